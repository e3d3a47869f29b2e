#include "ddprun/step_seed.hpp"

#include <torch/torch.h>

namespace ddprun::worker {
namespace {

/// The output function of SplitMix64 (Steele, Lea and Flood 2014): neighbours become unrelated, so
/// that jobs with seeds 1 and 2 do not draw the same numbers one step apart.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

void seed_generators(const StepSeed& place) {
  const std::uint64_t of_step = mix(mix(place.seed) + static_cast<std::uint64_t>(place.step));
  torch::manual_seed(mix(of_step + static_cast<std::uint64_t>(place.rank)));
}

}  // namespace ddprun::worker
