// `ddprun store`: the workers' store without a job, for PyTorch jobs of any launcher.
#pragma once

#include "launcher/options/store_options.hpp"

namespace ddprun {

/// Serves until SIGINT, SIGTERM, or a SIGHUP that nohup does not ignore, and returns the status to
/// exit with. Throws Failure if it cannot listen, or cannot write the port's file.
[[nodiscard]] int store_command(const StoreCommandOptions& options);

}  // namespace ddprun
