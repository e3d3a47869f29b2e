// Values as they were read, each with the place it came from: the common form of command line,
// environment and job file before anything is interpreted.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

struct Setting {
  std::string value;   ///< Flags: "true" or "false".
  std::string origin;  ///< "the command line", "DDPRUN_GRACE", "job.yaml:3:8", "default".
  friend bool operator==(const Setting&, const Setting&) = default;
};

/// Not merely by default.
[[nodiscard]] inline bool is_given(const Setting& setting) {
  return setting.origin != "default" && !setting.value.empty();
}

/// Whether this program was called by the name torchrun, through a link: then it reads its line as
/// torchrun does, which has no subcommands, and runs Python unless told otherwise.
[[nodiscard]] inline bool is_torchrun(std::string_view called_as) {
  return called_as.substr(called_as.rfind('/') + 1) == "torchrun";  // npos + 1 is 0
}

/// By option name, as option_table.hpp spells it.
using Settings = std::map<std::string, Setting>;

/// What one source says of the job.
struct Source {
  std::string called_as;  ///< The command line's word for this program.
  Settings settings;
  Setting program;                             ///< Empty value: not named here.
  bool after_dashes = false;                   ///< "--" stood before the program.
  std::vector<std::string> arguments;          ///< Of the program.
  std::map<std::string, Setting> environment;  ///< Variables for the workers.
};

}  // namespace ddprun
