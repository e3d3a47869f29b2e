// `ddprun coordinator`: a coordinator without workers, for a login or batch host.
#pragma once

#include "launcher/settings.hpp"

#include <string>

namespace ddprun {

/// Runs it with the options behind the subcommand's name until the job has ended. Returns the
/// status to exit with; throws Failure for bad options.
[[nodiscard]] int run_coordinator(const Source& command_line, const std::string& host);

}  // namespace ddprun
