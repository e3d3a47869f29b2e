// The one clock of ddprun on this machine; it also counts while the machine is suspended.
#pragma once

#include "rendezvous/units.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace ddprun {

/// Milliseconds of CLOCK_BOOTTIME. Clocks of different machines are never compared.
[[nodiscard]] inline Instant now() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return {std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000};
}

/// For poll(2): until then, or an hour; 0 once it is over.
[[nodiscard]] inline int poll_time(Instant at) {
  constexpr std::int64_t longest = 3'600'000;
  return static_cast<int>(std::clamp<std::int64_t>((at - now()).count, 0, longest));
}

}  // namespace ddprun
