// A dry run as people read it. Pure.
#pragma once

#include "launcher/commands/dry_run.hpp"

#include <string>

namespace ddprun {

/// First what was given, with its origin, and the defaults in few lines. Then, for sh: what all
/// workers share, and a command for each of them. Lines that are not for sh come before these.
[[nodiscard]] std::string dry_run_text(const DryRun& dry_run);

}  // namespace ddprun
