// The output of --dry-run: every value with its origin, and the place of each worker. Pure.
#pragma once

#include "launcher/node/job.hpp"

#include <string>

namespace ddprun {

/// The effective options, the command, the table of workers, and the variables that each finds
/// beyond what ddprun inherited.
[[nodiscard]] std::string dry_run_text(const Job& job);

}  // namespace ddprun
