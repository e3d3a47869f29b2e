// Binds this node's workers to cores, also where each of several tasks of a Slurm step has one of
// them. Pure.
#pragma once

#include "launcher/devices/topology.hpp"
#include "launcher/node/job.hpp"
#include "launcher/text/environment.hpp"
#include "rendezvous/result.hpp"

namespace ddprun {

/// Sets the cores and threads of the workers in `job.setup`, which otherwise is complete.
/// `allowed`: what this process may use. Tasks that share all cores of the step compute the same
/// for all of them, and each takes its own part; tasks with cores of their own choose among those.
[[nodiscard]] Result<void> give_cores(const Environment& environment,
                                      const CoreSet& allowed,
                                      const Topology& topology,
                                      Job& job);

/// Where a quota leaves this node fewer cores than its processes may run on: gives no worker more
/// threads than its even share of `job.setup.core_count`, whatever cores it is bound to.
void limit_threads(Job& job);

}  // namespace ddprun
