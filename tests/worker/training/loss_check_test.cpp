#include "worker/training/loss_check.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;

TEST_CASE("loss check: on the CPU a loss is checked at once, and its step named") {
  LossCheck check(3);
  CHECK(check.add(torch::tensor(1.5F), {.step = 7}) == 1.5);
  CHECK(check.add(torch::full({1, 1}, 2.5), {.step = 8}) == 2.5);
  CHECK_FALSE(check.finish());
  const auto nan = torch::tensor(std::numeric_limits<double>::quiet_NaN());
  CHECK(contains(error_of([&] { check.add(nan, {.epoch = 2, .step = 9}); }),
                 "the loss is nan in epoch 2, step 9 on rank 3"));
  check.finish();
}

TEST_CASE("loss check: a loss of many numbers is refused with its shape") {
  LossCheck check(3);
  CHECK(contains(error_of([&] {
                   check.add(torch::ones({4, 2}), {.step = 7});
                 }),
                 "a loss of shape [4, 2] in step 7 on rank 3; it must be one number"));
}

}  // namespace
}  // namespace ddprun::worker
