#include "worker/parallel/backward_watch.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;

/// All of them are trained.
BackwardWatch watch_of(const std::vector<std::string>& names) {
  BackwardWatch watch(names);
  watch.set_trained(std::vector<bool>(names.size(), true));
  return watch;
}

/// What one backward pass throws that gives a gradient to each of `indices`, in their order.
std::string error_of_pass(BackwardWatch& watch, const std::vector<std::size_t>& indices) {
  return error_of([&] {
    bool is_watched = false;
    for (const std::size_t index : indices) {
      const bool is_first = watch.gradient(index);
      CHECK_FALSE((is_first && is_watched));
      is_watched = is_watched || is_first;
    }
    if (is_watched) static_cast<void>(watch.end_pass());
  });
}

TEST_CASE("backward watch: after a forward pass one backward pass is expected, in any order") {
  BackwardWatch watch = watch_of({"a", "b", "c"});
  CHECK(contains(error_of_pass(watch, {1}), "a gradient of b would stay on this rank alone"));
  for (int step = 0; step < 3; ++step) {
    watch.forward();
    watch.forward();
    CHECK(error_of_pass(watch, {2, 0, 1}) == "");
  }
  CHECK(contains(error_of_pass(watch, {0, 1, 2}), "a gradient of a would stay"));
}

TEST_CASE("backward watch: parameters without a gradient are named, a few of them") {
  BackwardWatch watch = watch_of({"a", "b", "c", "d", "e", "f", "g", "h"});
  watch.forward();
  CHECK(contains(error_of_pass(watch, {0, 1, 2, 4, 5, 6, 7}), "gave no gradient to d: the ranks"));
  watch.forward();
  CHECK(contains(error_of_pass(watch, {1}), "gave no gradient to a, c, d, e, f and 2 more: the"));
}

TEST_CASE("backward watch: a pass that failed half way leaves nothing behind") {
  BackwardWatch watch = watch_of({"a", "b"});
  watch.forward();
  CHECK(watch.gradient(0));
  watch.forward();
  CHECK(contains(error_of_pass(watch, {1}), "gave no gradient to a: "));
}

TEST_CASE("backward watch: frozen parameters get no gradient") {
  BackwardWatch watch({"a", "b"});
  watch.set_trained({true, false});
  watch.forward();
  CHECK(error_of_pass(watch, {0}) == "");
  watch.forward();
  CHECK(contains(error_of_pass(watch, {0, 1}), "a gradient of b would stay"));
}

TEST_CASE(
    "backward watch: under no_sync gradients may come as they like, and nothing is expected") {
  BackwardWatch watch = watch_of({"a", "b"});
  watch.set_no_sync(true);
  CHECK(error_of_pass(watch, {0, 0}) == "");
  watch.forward();
  CHECK(error_of_pass(watch, {1, 0, 1}) == "");
  watch.set_no_sync(false);
  CHECK(contains(error_of_pass(watch, {0}), "a gradient of a would stay"));
  watch.forward();
  watch.set_no_sync(true);
  CHECK(error_of_pass(watch, {0}) == "");
  watch.set_no_sync(false);
  CHECK(error_of_pass(watch, {0, 1}) == "");
}

TEST_CASE("backward watch: the first complete pass shows the order, until others are trained") {
  BackwardWatch watch = watch_of({"a", "b", "c"});
  const auto pass = [&](const std::vector<std::size_t>& indices) {
    watch.forward();
    for (const std::size_t index : indices) static_cast<void>(watch.gradient(index));
    return watch.end_pass();
  };
  CHECK_THROWS(pass({0, 1}));
  CHECK(watch.order().empty());
  CHECK(pass({2, 0, 1}));
  CHECK_FALSE(pass({0, 1, 2}));
  CHECK(watch.order() == std::vector<std::int64_t>{2, 0, 1});
  watch.set_trained({true, false, true});
  CHECK(watch.order().empty());
  CHECK(pass({0, 2}));
  CHECK(watch.order() == std::vector<std::int64_t>{0, 2});
}

TEST_CASE("backward watch: where parameters may be left out there is no order") {
  BackwardWatch watch({"a", "b"}, Reached::any);
  watch.set_trained({true, true});
  watch.forward();
  CHECK(watch.gradient(1));
  CHECK_FALSE(watch.end_pass());
  CHECK(watch.order().empty());
}

TEST_CASE("backward watch: in a static graph each pass reaches what the first one has reached") {
  BackwardWatch watch({"a", "b", "c"}, Reached::as_at_first);
  watch.set_trained({true, true, true});
  watch.forward();
  watch.set_no_sync(true);
  CHECK(contains(error_of_pass(watch, {0}), "must not be under no_sync()"));
  watch.set_no_sync(false);
  CHECK(watch.gradient(2));
  CHECK_FALSE(watch.gradient(0));
  CHECK(watch.end_pass());
  watch.forward();
  CHECK(error_of_pass(watch, {0, 2}) == "");
  watch.forward();
  CHECK(contains(error_of_pass(watch, {0}), "gave no gradient to c"));
  watch.forward();
  CHECK(contains(error_of_pass(watch, {1}), "a gradient of b, which had none in the first"));
}

}  // namespace
}  // namespace ddprun::worker
