// The order of steps: all of it, and from every place in it on.
#include "worker/training/step_plan.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun::worker {
namespace {

constexpr int world_size = 2;

StepPlan plan_of(std::int64_t samples,
                 const SessionOptions& options,
                 const Position& start = {},
                 int rank = 0) {
  const DistributedSampler sampler(samples, rank, world_size, {.shuffle = false});
  return {options, sampler, world_size, start};
}

/// One line for each step that is left.
std::string steps_of(StepPlan plan) {
  std::string lines;
  while (!plan.is_over()) {
    const Position& at = plan.position();
    lines += text(at.epoch, " ", at.batch, " ", at.samples, " ", at.step, ":");
    for (std::int64_t i = 0; i < plan.size(); ++i) {
      lines += text(" ", plan.samples()[static_cast<std::size_t>(plan.begin() + i)]);
    }
    const bool was_last = plan.ends_epoch();
    const auto finished = plan.finish_step();
    CHECK(finished.ends_epoch == was_last);
    lines += text(
        was_last ? " end" : "", finished.asks ? " ask" : "", finished.saves ? " save" : "", "\n");
  }
  return lines;
}

TEST_CASE("step plan: batches of a rank, the last one short, epoch after epoch") {
  const SessionOptions options{.epochs = 2, .batch_size = 2};
  CHECK(steps_of(plan_of(5, options)) ==
        "0 0 0 0: 0 2 ask\n"
        "0 1 4 1: 4 end ask save\n"
        "1 0 0 2: 0 2 ask\n"
        "1 1 4 3: 4 end ask save\n");
  CHECK(steps_of(plan_of(5, options, {}, 1)) ==
        "0 0 0 0: 1 3 ask\n"
        "0 1 4 1: 0 end ask save\n"
        "1 0 0 2: 1 3 ask\n"
        "1 1 4 3: 0 end ask save\n");
}

TEST_CASE("step plan: saves every so many steps or epochs, and at the end") {
  const auto with = [](std::int64_t save_every, std::int64_t epochs, std::int64_t ask_every) {
    return SessionOptions{.epochs = 3,
                          .batch_size = 1,
                          .save_every = save_every,
                          .save_every_epochs = epochs,
                          .ask_every = ask_every};
  };
  const auto marks = [](const SessionOptions& options) {
    std::string marked;
    for (StepPlan plan = plan_of(4, options); !plan.is_over();) {
      const auto finished = plan.finish_step();
      marked += finished.saves ? 'S' : finished.asks ? 'a' : '.';
    }
    return marked;
  };
  CHECK(marks(with(0, 1, 0)) == ".S.S.S");
  CHECK(marks(with(0, 2, 0)) == ".a.S.S");
  CHECK(marks(with(0, 100, 0)) == ".a.a.S");
  CHECK(marks(with(3, 100, 0)) == ".aSa.S");
  CHECK(marks(with(0, 100, 3)) == ".aaa.S");
}

TEST_CASE("step plan: from each position on it is what was left there") {
  const SessionOptions options{
      .epochs = 3, .batch_size = 2, .save_every = 2, .save_every_epochs = 2, .ask_every = 3};
  for (StepPlan plan = plan_of(11, options); !plan.is_over(); plan.finish_step()) {
    CHECK(steps_of(plan) == steps_of(plan_of(11, options, plan.position())));
  }
}

TEST_CASE("step plan: an epoch without samples left is finished, also the last one") {
  const SessionOptions options{.epochs = 2, .batch_size = 2};
  CHECK(steps_of(plan_of(4, options, {.epoch = 0, .batch = 1, .samples = 4, .step = 1})) ==
        "1 0 0 1: 0 2 end ask save\n");
  CHECK(plan_of(4, options, {.epoch = 1, .batch = 1, .samples = 4, .step = 1}).is_over());
  CHECK(plan_of(4, options, {.epoch = 2, .step = 2}).is_over());
  CHECK(plan_of(4, options, {.epoch = 9, .step = 2}).is_over());
}

TEST_CASE("step plan: after steps_max steps it is over, in the middle of an epoch too, and saved") {
  const SessionOptions options{.epochs = 3, .steps_max = 3, .batch_size = 2};
  CHECK(steps_of(plan_of(5, options)) ==
        "0 0 0 0: 0 2 ask\n"
        "0 1 4 1: 4 end ask save\n"
        "1 0 0 2: 0 2 ask save\n");
  for (const std::int64_t step : {3, 4}) {
    const StepPlan plan = plan_of(5, options, {.epoch = 1, .batch = 1, .samples = 4, .step = step});
    CHECK(plan.is_over());
    CHECK(plan.position().epoch == 1);
  }
}

TEST_CASE("step plan: options that are too small are named") {
  const auto error = [](std::int64_t samples, const SessionOptions& options) {
    return test::error_of([&] { static_cast<void>(plan_of(samples, options)); });
  };
  CHECK(error(9, {.epochs = 0}) == "epochs of a session is 0; it must be at least 1");
  CHECK(error(9, {.steps_max = -1}) == "steps_max of a session is -1; it must be at least 0");
  CHECK(error(9, {.batch_size = 0}) == "batch_size of a session is 0; it must be at least 1");
  CHECK(error(9, {.save_every = -1}) == "save_every of a session is -1; it must be at least 0");
  CHECK(error(9, {.save_every_epochs = 0}) ==
        "save_every_epochs of a session is 0; it must be at least 1");
  CHECK(error(9, {.ask_every = -1}) == "ask_every of a session is -1; it must be at least 0");
}

TEST_CASE("step plan: data must have a sample for each rank, whether or not the rest is dropped") {
  for (const bool drops_last : {false, true}) {
    const auto error = [&](std::int64_t samples, int ranks) {
      const DistributedSampler sampler(samples, 0, ranks, {.drop_last = drops_last});
      return test::error_of([&] { const StepPlan plan({}, sampler, ranks, {}); });
    };
    CHECK(error(2, 2).empty());
    CHECK(error(1, 2) ==
          "the training has 2 ranks, and its data 1 sample; give each rank one: start fewer "
          "workers, or check the data's path");
    CHECK(test::contains(error(0, 1), "has 1 rank, and its data 0 samples; give"));
  }
}

}  // namespace
}  // namespace ddprun::worker
