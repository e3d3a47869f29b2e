// The command line of an example: words, and options of the form `--name VALUE` or `--name=VALUE`.
// What cannot be understood is a UsageError that ends with how the program is called.
#pragma once

#include "ddprun/run.hpp"

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ddprun::examples {

class Arguments {
 public:
  /// `names`: the options there are, without dashes.
  Arguments(const std::vector<std::string>& arguments,
            const std::set<std::string>& names,
            std::string usage)
      : usage_(std::move(usage)) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].starts_with("--")) {
        words_.push_back(arguments[i]);
        continue;
      }
      const std::size_t equals = arguments[i].find('=');
      const std::string name = arguments[i].substr(2, equals - 2);
      if (names.count(name) == 0) fail("unknown option --" + name);
      if (equals != std::string::npos) {
        options_[name] = arguments[i].substr(equals + 1);
      } else {
        if (i + 1 == arguments.size()) fail("--" + name + " needs a value");
        options_[name] = arguments[++i];
      }
    }
  }

  void expect_words(std::size_t count) const {
    if (words_.size() < count) fail("an argument is missing");
    if (words_.size() > count) fail("too many arguments, beginning with " + words_[count]);
  }

  [[nodiscard]] const std::string& word(std::size_t index) const { return words_.at(index); }
  /// A word that is a whole number of at least 1; `meaning` names it in messages.
  [[nodiscard]] std::int64_t count(std::size_t word_index, const std::string& meaning) const {
    return parse<std::int64_t>(words_.at(word_index), meaning, 1);
  }
  [[nodiscard]] std::int64_t count_or(const std::string& option, std::int64_t otherwise) const {
    const auto value = find(option);
    return value ? parse<std::int64_t>(*value, "--" + option, 1) : otherwise;
  }
  [[nodiscard]] double number_or(const std::string& option, double otherwise) const {
    const auto value = find(option);
    return value ? parse<double>(*value, "--" + option, 0) : otherwise;
  }
  [[nodiscard]] std::string text_or(const std::string& option, const std::string& otherwise) const {
    return find(option).value_or(otherwise);
  }

 private:
  [[nodiscard]] std::optional<std::string> find(const std::string& option) const {
    const auto found = options_.find(option);
    if (found == options_.end()) return std::nullopt;
    return found->second;
  }

  template <typename Number>
  [[nodiscard]] Number parse(const std::string& value,
                             const std::string& meaning,
                             Number number_min) const {
    Number number{};
    const char* end = value.data() + value.size();
    const auto [stop, failure] = std::from_chars(value.data(), end, number);
    if (failure != std::errc{} || stop != end || !(number >= number_min)) {
      fail(worker::text(meaning, " is \"", value, "\", not a number of at least ", number_min));
    }
    return number;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw worker::UsageError(what + "; usage: " + usage_);
  }

  std::string usage_;
  std::vector<std::string> words_;
  std::map<std::string, std::string> options_;
};

}  // namespace ddprun::examples
