// `ddprun coordinator`: a process of the job without workers, for a login or batch host. It begins
// as the coordinator, and votes like a node.
#pragma once

#include "launcher/node/job.hpp"
#include "launcher/text/settings.hpp"

#include <string>

namespace ddprun {

/// From the options behind the subcommand's name; `host` is this node's name. Throws Failure for
/// bad options.
[[nodiscard]] Job coordinator_job(Source command_line, const std::string& host);

}  // namespace ddprun
