// Values from Slurm's allocation for options that were not given. Pure.
#pragma once

#include "launcher/allocation/allocation.hpp"
#include "launcher/text/environment.hpp"
#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

#include <optional>

namespace ddprun {

/// Fills in the nodes of the job, and in a task where they meet and its place among them, unless
/// --standalone, --nnodes=1, --rdzv-endpoint or --master-addr say that the job is not the
/// allocation's: then, and outside of Slurm, nothing. `all` has every option.
[[nodiscard]] Result<std::optional<Allocation>> apply_allocation(const Environment& environment,
                                                                 Settings& all);

}  // namespace ddprun
