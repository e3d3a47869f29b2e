// Parses argv into settings, program and arguments.
#pragma once

#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

#include <string>
#include <vector>

namespace ddprun {

/// Reads `arguments` (argv without its first element). The first argument that is not an option is
/// the program, and all that follows is its own. After `--` comes the program, or, with -f,
/// arguments that replace the job file's.
[[nodiscard]] Result<Source> parse_command_line(const std::vector<std::string>& arguments);

}  // namespace ddprun
