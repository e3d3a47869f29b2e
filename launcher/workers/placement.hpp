// What is told of the workers' GPUs and cores. Pure.
#pragma once

#include "launcher/workers/worker_env.hpp"

#include <string>

namespace ddprun {

/// "n0: workers 0-3 have GPUs 0-3 and cores 0-31; workers 4-7 have GPUs 4-7 and cores 32-63", by
/// LOCAL_RANK. Empty if workers are not bound and no GPU is visible.
[[nodiscard]] std::string placement_text(const WorkerSetup& setup, int worker_count);

}  // namespace ddprun
