// The simulator's only source of chance: one seed, one stream, the same everywhere.
#pragma once

#include <cstdint>

namespace ddprun::sim {

/// splitmix64 (Steele, Lea, Flood 2014). One draw a statement: the order of two in one expression
/// is the compiler's choice.
class Prng {
 public:
  explicit Prng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  /// From `low` to `high`, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const auto count = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(next() % count);
  }
  bool percent(std::int64_t chance) { return between(0, 99) < chance; }

 private:
  std::uint64_t state_;
};

}  // namespace ddprun::sim
