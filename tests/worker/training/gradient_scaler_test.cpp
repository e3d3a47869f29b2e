#include "worker/training/gradient_scaler.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;

torch::Tensor parameter_with(const torch::Tensor& gradient) {
  torch::Tensor parameter = torch::zeros_like(gradient).requires_grad_();
  parameter.mutable_grad() = gradient;
  return parameter;
}

TEST_CASE("gradient scaler: gradients are divided once, and an overflow halves the next scale") {
  const torch::Tensor parameter = parameter_with(torch::full({2}, 65'536.0F * 3));
  GradientScaler scaler({parameter, torch::zeros({1}).requires_grad_()});
  CHECK(scaler.scaled(torch::tensor(2.0F)).item<float>() == 131'072);
  for (int i = 0; i < 2; ++i) scaler.unscale();
  CHECK(torch::equal(parameter.grad(), torch::full({2}, 3.0F)));
  CHECK_FALSE(scaler.take_overflow());
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    parameter.grad()[1] = bad;
    CHECK(scaler.take_overflow());
  }
  CHECK(scaler.scaled(torch::tensor(2.0F)).item<float>() == 131'072 / 4);
}

TEST_CASE("gradient scaler: its state is Python's, and comes back") {
  GradientScaler scaler({parameter_with(torch::full({1}, std::numeric_limits<float>::infinity()))});
  CHECK(scaler.take_overflow());
  GradientScaler other({});
  other.load(scaler.state());
  CHECK(other.scaled(torch::ones({1})).item<float>() == 32'768);
  const auto state = scaler.state().toGenericDict();
  CHECK(state.at("_growth_tracker").toInt() == 0);
  state.insert_or_assign("scale", -1.0);
  CHECK(contains(error_of([&] { other.load(state); }), "no scale that is a positive number"));
  state.insert_or_assign("scale", 2.0);
  state.insert_or_assign("growth_interval", 0);
  CHECK(contains(error_of([&] { other.load(state); }), "no growth_interval of at least 1"));
  CHECK(contains(error_of([&] { other.load(3); }), "SCALER_STATE is not a dict"));
}

}  // namespace
}  // namespace ddprun::worker
