// Parses the options about restarts into the coordinator's values. Pure.
#pragma once

#include "launcher/text/settings.hpp"
#include "rendezvous/generations/restart_policy.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/units.hpp"

#include <optional>

namespace ddprun {

/// Of effective settings; the first value that makes no sense is the error.
[[nodiscard]] Result<RestartOptions> read_restart_options(const Settings& all);

/// Nothing if it is off.
[[nodiscard]] Result<std::optional<Millis>> read_hang_timeout(const Settings& all);

}  // namespace ddprun
