// ddprun in a batch script, or in a shell of salloc: this process coordinates the job and starts
// an agent on each node of the allocation. The job ends with this process.
#pragma once

#include "launcher/meeting/token_file.hpp"
#include "launcher/node/job.hpp"
#include "launcher/text/environment.hpp"
#include "launcher/text/settings.hpp"

#include <string>

namespace ddprun {

/// From the options, of such a script, that `command_line` and `environment` make; `host` is this
/// host's name. Draws the job's token, unless there is one, into `token_file`. Throws Failure where
/// the agents could not be started, or find nothing to start.
[[nodiscard]] Job script_job(const Source& command_line,
                             Options options,
                             const Environment& environment,
                             const std::string& host,
                             TokenFile& token_file);

/// For an agent that such a process has started, by `ddprun agent`.
void be_anchored(Options& options);

}  // namespace ddprun
