#include "worker/training/loss_scale.hpp"

#include <doctest/doctest.h>

namespace ddprun::worker {
namespace {

TEST_CASE("loss scale: halves at an overflow, and doubles after so many steps without one") {
  LossScale rule{.scale = 1024, .growth_interval = 3};
  rule.update(true);
  CHECK(rule.scale == 512);
  for (int i = 0; i < 2; ++i) rule.update(false);
  CHECK(rule.scale == 512);
  rule.update(false);
  CHECK(rule.scale == 1024);
  for (int i = 0; i < 2; ++i) rule.update(false);
  rule.update(true);  // the count begins anew
  for (int i = 0; i < 2; ++i) rule.update(false);
  CHECK(rule.scale == 512);
  rule.update(false);
  CHECK(rule.scale == 1024);
}

}  // namespace
}  // namespace ddprun::worker
