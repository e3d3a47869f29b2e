#include "ddprun/mean.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>

namespace ddprun::worker {
namespace {

TEST_CASE("mean: weighs what all ranks have added by its counts, and begins anew") {
  std::atomic<int> right_count = 0;
  test::run_ranks(3, [&](const Context& context, const ProcessGroup& group) {
    Mean mean;
    if (context.rank > 0) {  // rank 0 adds nothing
      mean.add(torch::tensor(6.0F), 3);
      mean.add(torch::full({1, 1}, context.rank, torch::kLong));
    }
    if (mean.over(group) == (6.0 + 1 + 6 + 2) / 8) ++right_count;
    mean.add(torch::tensor(5.0));
    if (mean.over(group) == 5) ++right_count;
    if (std::isnan(mean.over(group))) ++right_count;
  });
  CHECK(right_count == 9);
}

TEST_CASE("mean: of one rank, in float64 whatever is added") {
  Mean mean;
  CHECK(std::isnan(mean.over_this_rank()));
  for (int i = 0; i < 1000; ++i)
    mean.add(torch::tensor(16'777'217.0, torch::kDouble).requires_grad_());
  for (int i = 0; i < 1000; ++i) mean.add(torch::tensor(1.0F), 0);
  CHECK(mean.over_this_rank() == 16'777'218);
}

}  // namespace
}  // namespace ddprun::worker
