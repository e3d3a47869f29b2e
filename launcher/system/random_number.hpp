// Random numbers that differ between processes.
#pragma once

#include <sys/random.h>

#include <cstdint>

namespace ddprun {

/// Drawn by the kernel; never 0.
[[nodiscard]] inline std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (number == 0) {
    if (::getrandom(&number, sizeof number, 0) != sizeof number) number = 0;
  }
  return number;
}

}  // namespace ddprun
