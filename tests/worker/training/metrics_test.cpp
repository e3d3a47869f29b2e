#include "ddprun/metrics.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <map>
#include <string>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;

TEST_CASE("metrics: each name is a mean over what all ranks have added, and begins anew") {
  std::atomic<int> right_count = 0;
  test::run_ranks(3, [&](const Context& context, const ProcessGroup& group) {
    Metrics metrics;
    if (context.rank != 2) {  // rank 2 adds nothing
      metrics.add("loss", torch::tensor(3.0F * static_cast<float>(context.rank)), 2);
      metrics.add("a longer name", torch::tensor(4.0));
    }
    if (context.rank == 0) metrics.add("of one rank", torch::tensor(7, torch::kLong));
    const std::map<std::string, double> expected{
        {"a longer name", 4}, {"loss", 0.75}, {"of one rank", 7}};
    if (metrics.over(group) == expected) ++right_count;
    if (metrics.over(group).empty()) ++right_count;
  });
  CHECK(right_count == 6);
}

TEST_CASE("metrics: a name that rank 0 has not is an error of all ranks") {
  std::array<std::string, 2> errors;
  std::atomic<int> right_count = 0;
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    Metrics metrics;
    metrics.add("loss", torch::tensor(1.0));
    if (context.rank == 1) metrics.add("mine", torch::tensor(1.0));
    errors.at(static_cast<std::size_t>(context.rank)) =
        error_of([&] { static_cast<void>(metrics.over(group)); });
    metrics.add("loss", torch::tensor(5.0));
    if (metrics.over(group) == std::map<std::string, double>{{"loss", 5}}) ++right_count;
  });
  CHECK(contains(errors[1], "rank 1 has added to the metric \"mine\" and rank 0 has not"));
  CHECK(contains(errors[0], "a rank has added to a metric that rank 0 has not"));
  CHECK(right_count == 2);
}

}  // namespace
}  // namespace ddprun::worker
