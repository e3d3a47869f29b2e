// How long SIGKILL may take.
#pragma once

#include "rendezvous/units.hpp"

namespace ddprun {

/// What lives on after it is stuck inside the kernel.
constexpr Millis kill_patience{5'000};

}  // namespace ddprun
