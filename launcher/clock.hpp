// The one clock by which this machine counts time, which goes on while it is suspended.
#pragma once

#include "rendezvous/units.hpp"

#include <ctime>

namespace ddprun {

/// Milliseconds of CLOCK_BOOTTIME. Clocks of different machines are never compared.
[[nodiscard]] inline Instant now() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return {std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000};
}

}  // namespace ddprun
