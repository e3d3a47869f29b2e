// A command: a program and its arguments.
#pragma once

#include "launcher/text/environment.hpp"

#include <string>
#include <vector>

namespace ddprun {

struct Command {
  std::string executable;              ///< A path, found and executable when it was looked for.
  std::vector<std::string> arguments;  ///< argv, its first element included.
  friend bool operator==(const Command&, const Command&) = default;
};

[[nodiscard]] bool is_executable_file(const std::string& path);

/// The first executable of that name in the folders of PATH, or empty.
[[nodiscard]] std::string find_on_path(const std::string& name, const Environment& environment);

}  // namespace ddprun
