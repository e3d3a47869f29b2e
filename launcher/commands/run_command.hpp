// `ddprun PROGRAM`, and likewise `coordinator` and `agent`: a job, and the processes that
// run it here.
#pragma once

#include "launcher/options/command_line.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace ddprun {

/// The role of this process, by the word before the options if there is one.
enum class Role : std::uint8_t { own, coordinator, anchored_agent };

/// Runs the job to its end and returns the status to exit with; --dry-run only goes to `print`.
/// Throws a Failure that says what is wrong with the options, or what the system refuses.
[[nodiscard]] int run_command(const Source& command_line,
                              Role role,
                              const std::string& version,
                              const std::function<int(const std::string&)>& print);

}  // namespace ddprun
