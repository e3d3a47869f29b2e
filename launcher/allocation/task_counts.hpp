// How many tasks each node of an allocation has, as Slurm writes it: "2(x3),1". Pure.
#pragma once

#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

#include <vector>

namespace ddprun {

/// Slurm keeps them in 16 bits.
constexpr int tasks_per_node_max = 65'535;

/// "2(x3),1" is 2, 2, 2, 1, in the order of the host list, of at most hosts_max nodes. Also for
/// SLURM_JOB_CPUS_PER_NODE, which is written the same way.
[[nodiscard]] Result<std::vector<int>> parse_task_counts(const Setting& list);

}  // namespace ddprun
