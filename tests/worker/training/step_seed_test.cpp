#include "ddprun/step_seed.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

namespace ddprun::worker {
namespace {

torch::Tensor draw(const StepSeed& place) {
  seed_generators(place);
  return torch::rand({64});
}

TEST_CASE("step seed: the same place draws the same numbers, whatever was drawn before") {
  const StepSeed place{.seed = 3, .step = 40, .rank = 1};
  const torch::Tensor first = draw(place);
  static_cast<void>(torch::rand({17}));
  CHECK(torch::equal(draw(place), first));
}

TEST_CASE("step seed: another seed, step or rank draws other numbers") {
  std::vector<torch::Tensor> draws;
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    for (const std::int64_t step : {0, 1, 2, 1'000'000}) {
      for (const int rank : {0, 1, 2}) draws.push_back(draw({seed, step, rank}));
    }
  }
  for (std::size_t i = 0; i < draws.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(torch::equal(draws[i], draws[j]));
  }
}

TEST_CASE("step seed: dropout follows it") {
  torch::nn::Dropout dropout(0.5);
  const torch::Tensor input = torch::ones({256});
  seed_generators({.seed = 1, .step = 5, .rank = 0});
  const torch::Tensor first = dropout(input);
  CHECK_FALSE(torch::equal(dropout(input), first));
  seed_generators({.seed = 1, .step = 5, .rank = 0});
  CHECK(torch::equal(dropout(input), first));
}

}  // namespace
}  // namespace ddprun::worker
