// ddprun as one of the tasks of `srun ddprun ...`: each is an agent that Slurm alone has
// started.
#pragma once

#include "launcher/devices/core_set.hpp"
#include "launcher/meeting/token_file.hpp"
#include "launcher/node/job.hpp"
#include "launcher/text/environment.hpp"

namespace ddprun {

/// Sets DDPRUN_TOKEN_FILE in `environment`, unless there is a token: the step's first task draws
/// one into a file that the others wait for.
[[nodiscard]] Result<void> share_token(const Options& options,
                                       Environment& environment,
                                       TokenFile& token_file);

/// Where several tasks share a node: the places of their workers there, and of its cores. Tasks to
/// which Slurm shows GPUs of their own share no GPU's number either: each worker is the only one.
/// `allowed`: the cores that this process may use.
void share_node(const Environment& environment, const CoreSet& allowed, Job& job);

}  // namespace ddprun
