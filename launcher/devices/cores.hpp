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

/// The warning if workers with GPUs leave no core of this node for anything else, such as processes
/// that load data, or if workers without GPUs have fewer than one each.
[[nodiscard]] std::string few_cores_note(int core_count, int worker_count, int gpu_count);

/// Whether Slurm has bound this task to cores of its own: `core_count` of more.
[[nodiscard]] bool has_own_cores(const Environment& environment, int core_count);

/// The warning if GPUs of the node are left that none of its `worker_count` workers is told;
/// `asked` is where that number comes from: "2 from the command line". Empty if there are none.
[[nodiscard]] std::string idle_gpus_note(int gpu_count, int worker_count, const std::string& asked);

}  // namespace ddprun
