// A dry run as programs read it: one JSON document, which ddprun-events(5) describes. Pure.
#pragma once

#include "launcher/commands/dry_run.hpp"

#include <string>

namespace ddprun {

/// Bytes that are no UTF-8 become U+FFFD, since JSON cannot hold them.
[[nodiscard]] std::string dry_run_json(const DryRun& dry_run);

}  // namespace ddprun
