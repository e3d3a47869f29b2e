#include "ddprun/metrics.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <string>

namespace ddprun::worker {
namespace {

TEST_CASE("metrics: each name is a mean over what all ranks have added, and begins anew") {
  std::atomic<int> right_count = 0;
  test::run_ranks(3, [&](const Context& context, const ProcessGroup& group) {
    Metrics metrics;
    if (context.rank != 2) {  // rank 2 adds to neither
      metrics.add("loss", torch::tensor(3.0F * static_cast<float>(context.rank)), 2);
      metrics.add("a longer name", torch::tensor(4.0));
    }
    if (context.rank == 2) metrics.add("of one rank", torch::tensor(7, torch::kLong));
    const std::map<std::string, double> expected{
        {"a longer name", 4}, {"loss", 0.75}, {"of one rank", 7}};
    if (metrics.over(group) == expected) ++right_count;
    if (metrics.over(group).empty()) ++right_count;
  });
  CHECK(right_count == 6);
}

}  // namespace
}  // namespace ddprun::worker
