// Numbers for fuzz tests, the same everywhere for one seed.
#pragma once

#include <cstddef>
#include <random>

namespace ddprun {

using Random = std::mt19937_64;  // unlike the library's distributions, the same everywhere

/// A number in [0, bound).
inline std::size_t below(Random& random, std::size_t bound) {
  return random() % bound;
}

}  // namespace ddprun
