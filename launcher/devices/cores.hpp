// Whether workers have the cores that the user expects. Pure.
#pragma once

#include "launcher/text/environment.hpp"

#include <string>

namespace ddprun {

/// In a Slurm job, the warning if its `worker_count` workers share fewer cores of this node than
/// that, or fewer than were requested for each task, with the options of the script
/// to change. Empty if there is no such problem, and outside of Slurm. `core_count`: the cores that
/// this process may use.
[[nodiscard]] std::string core_note(const Environment& environment,
                                    int worker_count,
                                    int core_count);

/// Whether Slurm has bound this task to cores of its own: `core_count` of more.
[[nodiscard]] bool has_own_cores(const Environment& environment, int core_count);

}  // namespace ddprun
