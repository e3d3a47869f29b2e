#include "ddprun/finite.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;

TEST_CASE("finite: a loss that is no number is refused by epoch, step and rank") {
  Position position;
  position.epoch = 3;
  position.step = 120;
  for (const double loss : {0.0, -1.5, 1e308}) {
    CHECK(error_of([&] { require_finite(loss, position, 5); }).empty());
  }
  CHECK(contains(error_of([&] { require_finite(NAN, position, 5); }),
                 "the loss is nan in epoch 3, step 120 on rank 5; a restart goes back to the"));
  CHECK(contains(error_of([&] { require_finite(INFINITY, position, 5); }), "the loss is inf"));
  CHECK(contains(error_of([&] { require_finite(-INFINITY, position, 5); }), "the loss is -inf"));
}

TEST_CASE("finite: a NaN in any tensor is found by name, an infinity may be meant") {
  StateDict state;
  state.insert("count", torch::tensor({1, 2}, torch::kLong));
  state.insert("mask", torch::full({4}, -std::numeric_limits<float>::infinity()));
  state.insert("empty", torch::empty({0}));
  CHECK_FALSE(find_nan(state).has_value());
  for (const auto type : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16}) {
    StateDict broken = state;
    torch::Tensor weight = torch::zeros({3, 3}, type);
    weight[1][2] = NAN;
    broken.insert("weight", weight);
    CHECK(find_nan(broken) == "weight");
  }
}

}  // namespace
}  // namespace ddprun::worker
