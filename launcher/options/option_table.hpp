// Every option of ddprun, once. The parsers, --help, the man page's test and the dry run read this
// table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

enum class OptionGroup : std::uint8_t { job, nodes, workers, restarts, output, compatible, other };

struct OptionSpec {
  std::string_view name;             ///< "nproc-per-node"; in a job file it is nproc_per_node.
  std::string_view short_name = {};  ///< "f", or empty.
  std::string_view value_name = {};  ///< "N"; empty for a flag.
  std::string_view words = {};       ///< Some of its values, between blanks, for shells to offer.
  std::string_view fallback = {};    ///< As if typed; empty: no value.
  std::string_view format = {};      ///< "json": this flag may also be --name=json.
  OptionGroup group;
  bool torchrun = false;  ///< torchrun has it too: its name may be abbreviated, PET_<NAME> is read.
  bool has_no_pet = false;           ///< But torchrun reads no such variable.
  std::string_view also_reads = {};  ///< A further variable of torchrun's, weaker than PET_<NAME>.
  bool command_only = false;         ///< Makes sense on the command line alone, such as --help.
  std::string_view help;

  [[nodiscard]] bool is_flag() const { return value_name.empty(); }
  /// Whether job files have it as a key. The file's name and its profile are for who starts it.
  [[nodiscard]] bool is_job_key() const {
    return !command_only && name != "file" && name != "profile";
  }
  /// Whether its value is a text with macros such as ${rank}, which each worker's own replace.
  [[nodiscard]] bool is_for_workers() const { return name.ends_with("-template"); }
};

/// In the order in which --help shows them.
[[nodiscard]] std::span<const OptionSpec> option_table();

/// The option of that name, in either spelling (dashes or underscores), or null.
[[nodiscard]] const OptionSpec* find_option(std::string_view name);

/// torchrun's options whose names begin with `beginning`, in either spelling, as argparse
/// abbreviates. Those that torchrun does not have are left out, so that none of them makes one of
/// its lines ambiguous.
[[nodiscard]] std::vector<const OptionSpec*> options_abbreviated(std::string_view beginning);

/// "nproc-per-node" → "nproc_per_node", as job files spell it.
[[nodiscard]] std::string with_underscores(std::string_view name);

/// "nproc-per-node" → "DDPRUN_NPROC_PER_NODE".
[[nodiscard]] std::string variable_name(std::string_view prefix, std::string_view name);

}  // namespace ddprun
