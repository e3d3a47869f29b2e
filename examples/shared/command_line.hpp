// The command line of an example, by Boost.Program_options: what each of them can be told, and what
// only one can. What cannot be understood is a UsageError that ends with how the program is called.
#pragma once

#include <boost/program_options.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace ddprun::examples {

/// What every job here can be told; the values at the beginning are its defaults.
struct JobOptions {
  std::string data;        ///< A folder. Empty: none.
  bool synthetic = false;  ///< Trains on samples that are made up, and needs no data.
  std::int64_t epochs = 1;
  std::int64_t steps = 0;        ///< The training ends after this many. 0: no limit.
  std::int64_t batch_size = 32;  ///< Of each rank.
  double lr = 0.01;
  std::uint64_t seed = 0;
  std::string weights;  ///< A file of weights to begin with. Empty: random ones.
  std::string losses;   ///< A file for the loss of each step. Empty: none.
};

class CommandLine {
 public:
  /// `usage`: the program's name and words, "toy EPOCHS SAVE_EVERY". `summary` begins --help.
  CommandLine(std::string usage, std::string summary);

  /// All of JobOptions, which must live as long as this, as everything that is added.
  void add(JobOptions& options);
  /// `--name N`: a whole number of at least `least`.
  void add_count(const std::string& name,
                 std::int64_t& value,
                 const std::string& meaning,
                 std::int64_t least = 1);
  /// `--name X`: a number of at least 0.
  void add_number(const std::string& name, double& value, const std::string& meaning);
  /// `--name TEXT`.
  void add_text(const std::string& name, std::string& value, const std::string& meaning);
  /// `--name WORD`: one of `words`, of which there are two or more. `value` may begin as none.
  void add_choice(const std::string& name,
                  std::string& value,
                  const std::vector<std::string>& words,
                  const std::string& meaning);
  /// `--name`, without a value.
  void add_flag(const std::string& name, bool& value, const std::string& meaning);
  /// Words without a name are the values of these options, in this order, and all are needed.
  void add_words(const std::vector<std::string>& names);

  /// Reads `arguments` into the values. False: --help was printed, and there is nothing to do.
  /// Throws UsageError.
  [[nodiscard]] bool read(const std::vector<std::string>& arguments);

 private:
  template <typename Number>
  void add_parsed(const std::string& name, Number& value, const std::string& meaning, Number least);
  [[noreturn]] void fail(const std::string& what) const;

  std::string usage_;
  boost::program_options::options_description options_;
  boost::program_options::positional_options_description words_;
};

}  // namespace ddprun::examples
