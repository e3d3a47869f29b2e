// How long SIGKILL may take.
#pragma once

#include "rendezvous/units.hpp"

namespace ddprun {

/// A process that still lives so long after SIGKILL is stuck inside the kernel.
constexpr Millis kill_patience{5'000};

}  // namespace ddprun
