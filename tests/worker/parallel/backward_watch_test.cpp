#include "worker/parallel/backward_watch.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;

/// The error of a gradient for each of `indices`, in their order.
std::string error_of_gradients(BackwardWatch& watch, const std::vector<std::size_t>& indices) {
  return error_of([&] {
    for (const std::size_t index : indices) watch.gradient(index);
  });
}

TEST_CASE(
    "backward watch: one gradient for each parameter, in any order, after each forward pass") {
  BackwardWatch watch({"a", "b", "c"});
  for (int step = 0; step < 3; ++step) {
    watch.forward(true);
    CHECK(error_of_gradients(watch, {2, 0, 1}) == "");
  }
  CHECK(contains(error_of_gradients(watch, {1}), "a gradient of b would stay on this rank alone"));
}

TEST_CASE("backward watch: parameters without a gradient are named, a few of them") {
  BackwardWatch watch({"a", "b", "c", "d", "e", "f", "g", "h"});
  watch.forward(true);
  watch.gradient(1);
  for (const bool synchronised : {true, false}) {
    CHECK(contains(error_of([&] { watch.forward(synchronised); }),
                   "gave no gradient to a, c, d, e, f and 2 more: the ranks would drift apart"));
  }
}

TEST_CASE("backward watch: a forward pass without a backward pass counts as none") {
  BackwardWatch watch({"a"});
  for (int i = 0; i < 3; ++i) watch.forward(true);
  CHECK(error_of_gradients(watch, {0}) == "");
  CHECK_FALSE(error_of_gradients(watch, {0}) == "");
}

TEST_CASE("backward watch: under no_sync gradients may come as they like, until it is over") {
  BackwardWatch watch({"a", "b"});
  watch.forward(false);
  CHECK(error_of_gradients(watch, {0, 0, 0}) == "");
  watch.forward(true);
  CHECK(contains(error_of_gradients(watch, {0, 0}), "a got a second gradient after one forward"));
}

TEST_CASE("backward watch: a model without parameters has no gradients") {
  BackwardWatch watch({});
  for (int i = 0; i < 2; ++i) CHECK(error_of([&] { watch.forward(true); }) == "");
}

}  // namespace
}  // namespace ddprun::worker
