#include "ddprun/early_stop.hpp"

#include "tests/worker/trainer/trainer_support.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::no_number;
using test::TemporaryFolder;
using test::train_epochs;

TEST_CASE("early stop: a training ends when it was not better for so many epochs") {
  struct Course {
    EarlyStopOptions options;
    std::vector<double> values;
    std::int64_t epochs;
  };
  const std::vector<Course> courses{
      {{.patience = 1}, {3, 2, 1, 0}, 4},
      {{.patience = 1}, {3, 2, 2, 0}, 3},
      {{.patience = 2}, {3, 2, 2, 1, 1, 1, 0}, 6},
      {{.better = Better::higher, .patience = 1}, {1, 2, 1, 3}, 3},
      {{.patience = 2, .change_min = 0.5}, {3, 2.5, 2.5, 1}, 3},
      {{.patience = 2, .change_min = 0.5}, {3, 2.75, 2.25, 2, 2, 0}, 5},
      {{.patience = 2}, {no_number, 3, no_number, no_number, 0}, 4},
      {{.patience = 2}, {no_number, no_number, 0}, 2},
  };
  for (const Course& course : courses) {
    CAPTURE(course.values);
    const TemporaryFolder folder;
    EarlyStop stop("x", course.options);
    CHECK(train_epochs(folder, course.values, stop) == course.epochs);
  }
  const TemporaryFolder folder;
  EarlyStop other("validation/y", {.patience = 1});  // there was none
  CHECK(train_epochs(folder, {1, 1, 1}, other) == 3);
}

TEST_CASE("early stop: what an early stop knows outlives a restart, and so does its end") {
  const TemporaryFolder folder;
  EarlyStop first("x", {.patience = 2});
  CHECK(train_epochs(folder, {1, 2}, first) == 2);
  EarlyStop second("x", {.patience = 2});
  CHECK(train_epochs(folder, {1, 2, 1.5, 0}, second) == 3);
  EarlyStop third("x", {.patience = 2});
  CHECK(train_epochs(folder, {1, 2, 1.5, 0}, third) == 3);
  EarlyStop longer("x", {.patience = 3});
  CHECK(train_epochs(folder, {1, 2, 1.5, 0}, longer) == 4);
}

TEST_CASE("early stop: an early stop that could never or always end is refused") {
  const auto error_for = [](const EarlyStopOptions& options) {
    return error_of([&] { const EarlyStop stop("x", options); });
  };
  CHECK(contains(error_for({.patience = 0}), "a patience of 0 epochs"));
  CHECK(contains(error_for({.change_min = -1}), "a change_min of -1 is not possible"));
}

}  // namespace
}  // namespace ddprun::worker
