// Whether workers have the cores that the user thinks they have. Pure.
#pragma once

#include "launcher/text/environment.hpp"

#include <string>

namespace ddprun {

/// In a Slurm job, what people are told where its `worker_count` workers have to share fewer of
/// this node's cores than that, or fewer than were asked for each task: which words of the script
/// to change. Empty where all is well, and outside of Slurm. `core_count` is what this process may
/// use.
[[nodiscard]] std::string core_note(const Environment& environment,
                                    int worker_count,
                                    int core_count);

}  // namespace ddprun
