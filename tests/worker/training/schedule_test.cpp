// Schedules, compared with PyTorch's.
#include "ddprun/schedule.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <sstream>

namespace ddprun::worker {
namespace {

TEST_CASE("schedule: after each epoch the rate is that of PyTorch's scheduler") {
  const test::TemporaryFolder folder;
  const auto said = test::run_python(folder, R"(
import warnings
warnings.simplefilter("ignore")  # 1.13's SequentialLR has one
from torch.optim import SGD, lr_scheduler as s
def rates(make):
    optimizer = SGD([torch.zeros(1)], lr=1.0)
    scheduler = make(optimizer)
    for _ in range(12):
        print(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
rates(lambda o: s.CosineAnnealingLR(o, 12, eta_min=0.05))
rates(lambda o: s.SequentialLR(
    o, [s.LinearLR(o, 0.1, total_iters=4), s.CosineAnnealingLR(o, 8)], [4]))
rates(lambda o: s.MultiStepLR(o, [3, 7], 0.2))
)");
  if (!said) return;
  std::istringstream expected(*said);
  const std::vector<Schedule> schedules{
      cosine_schedule({.epochs = 12, .end = 0.05}),
      cosine_schedule({.epochs = 12, .warmup_epochs = 4, .warmup_start = 0.1}),
      multi_step_schedule({3, 7}, 0.2)};
  for (const Schedule& schedule : schedules) {
    for (int epoch = 0; epoch < 12; ++epoch) {
      double rate = -1;
      expected >> rate;
      CAPTURE(epoch);
      CHECK(schedule(epoch) == doctest::Approx(rate).epsilon(1e-9));
    }
  }
}

TEST_CASE("schedule: a cosine goes on within an epoch, and stays at its end") {
  const Schedule schedule = cosine_schedule({.epochs = 2, .end = 0.5});
  CHECK(schedule(1) == doctest::Approx(0.75));
  CHECK(schedule(1.5) < schedule(1.25));
  CHECK(schedule(2) == doctest::Approx(0.5));
  CHECK(schedule(7) == doctest::Approx(0.5));
}

TEST_CASE("schedule: a warm-up as long as all of it is refused") {
  const auto make = [] { static_cast<void>(cosine_schedule({.epochs = 3, .warmup_epochs = 3})); };
  CHECK(test::contains(test::error_of(make), "of 3 epochs cannot warm up for 3"));
}

}  // namespace
}  // namespace ddprun::worker
