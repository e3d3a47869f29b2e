// Values as they were read, each with the place it came from: the common form of command line,
// environment and job file before anything is interpreted.
#pragma once

#include <map>
#include <string>
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

/// By option name, as option_table.hpp spells it.
using Settings = std::map<std::string, Setting>;

/// What one source says of the job.
struct Source {
  Settings settings;
  Setting program;                             ///< Empty value: not named here.
  bool after_dashes = false;                   ///< "--" stood before the program.
  std::vector<std::string> arguments;          ///< Of the program.
  std::map<std::string, Setting> environment;  ///< Variables for the workers.
};

}  // namespace ddprun
