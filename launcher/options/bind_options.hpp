// Reads which cores the workers are to get. Pure.
#pragma once

#include "launcher/devices/binding.hpp"
#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

namespace ddprun {

/// Of --cpu-bind, or torchrun's --numa-binding.
[[nodiscard]] Result<BindOptions> read_bind_options(const Settings& all);

}  // namespace ddprun
