#include "worker/parallel/gradient_buckets.hpp"

#include <doctest/doctest.h>

namespace ddprun::worker {
namespace {

using BucketIndices = std::vector<std::vector<std::size_t>>;

TEST_CASE("gradient buckets: an order of all parameters becomes one of the trained ones") {
  const std::vector<bool> is_trained{true, false, true, true};
  CHECK(among_trained({3, 0, 2}, is_trained) == std::vector<std::int64_t>{2, 0, 1});
}

TEST_CASE("gradient buckets: an order that has not each trained parameter once is not used") {
  const std::vector<bool> is_trained{true, false, true};
  for (const std::vector<std::int64_t>& order :
       {std::vector<std::int64_t>{}, {0}, {0, 1}, {0, 0}, {0, 2, 0}, {0, 1, 2}, {0, 3}, {-1, 0}}) {
    CAPTURE(order.size());
    CHECK(among_trained(order, is_trained).empty());
  }
}

TEST_CASE("gradient buckets: they follow the order, else the reverse of the module's") {
  const std::vector<torch::Tensor> four(4, torch::zeros({10}));  // 40 bytes each
  const std::vector<bool> none(4, false);
  CHECK(gradient_buckets(four, none, 80, 40, {}).indices == BucketIndices{{3}, {1, 2}, {0}});
  CHECK(gradient_buckets(four, none, 80, 40, {2, 0, 3, 1}).indices ==
        BucketIndices{{2}, {0, 3}, {1}});
}

TEST_CASE("gradient buckets: a sparse gradient travels alone") {
  const std::vector<torch::Tensor> three(3, torch::zeros({10}));
  const std::vector<bool> second{false, true, false};
  CHECK(gradient_buckets(three, second, 800, 800, {}).indices == BucketIndices{{1}, {0, 2}});
  CHECK(gradient_buckets(three, second, 800, 800, {2, 1, 0}).indices == BucketIndices{{1}, {2, 0}});
}

}  // namespace
}  // namespace ddprun::worker
