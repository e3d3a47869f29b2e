// Evaluations by all ranks, and the means that they end with.
#include "ddprun/evaluation.hpp"

#include "ddprun/error.hpp"
#include "ddprun/mean.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <mutex>

namespace ddprun::worker {
namespace {

namespace nn = torch::nn;

TEST_CASE("evaluation: each sample is on one rank, and a rank may have none") {
  for (const std::int64_t samples_count : {0, 1, 2, 7, 12}) {
    CAPTURE(samples_count);
    std::mutex mutex;
    std::vector<std::int64_t> seen;
    test::run_ranks(3, [&](const Context&, const ProcessGroup& group) {
      const auto net = std::make_shared<nn::LinearImpl>(1, 1);
      Mean mean;
      for (const auto& batch : EvaluationBatches(net, group, torch::kCPU, samples_count, 2)) {
        REQUIRE(batch.numel() <= 2);
        mean.add(batch.sum(), static_cast<double>(batch.numel()));
        const std::lock_guard lock(mutex);
        seen.insert(seen.end(),
                    batch.data_ptr<std::int64_t>(),
                    batch.data_ptr<std::int64_t>() + batch.numel());
      }
      const double expected = samples_count > 0 ? static_cast<double>(samples_count - 1) / 2 : NAN;
      const double all = mean.over(group);
      const std::lock_guard lock(mutex);
      if (samples_count == 0)
        CHECK(std::isnan(all));
      else
        CHECK(all == expected);
    });
    std::sort(seen.begin(), seen.end());
    std::vector<std::int64_t> expected;
    for (std::int64_t i = 0; i < samples_count; ++i) expected.push_back(i);
    CHECK(seen == expected);
  }
}

TEST_CASE("evaluation: modes are as before afterwards, also of a part that is frozen") {
  test::run_ranks(1, [&](const Context&, const ProcessGroup& group) {
    nn::Sequential net(nn::Linear(1, 1), nn::BatchNorm1d(1));
    net[1]->eval();
    {
      const EvaluationBatches batches(net.ptr(), group, torch::kCPU, 4, 2);
      CHECK_FALSE(net->is_training());
      CHECK_FALSE(net[0]->is_training());
      CHECK_FALSE(net->forward(torch::ones({1, 1})).requires_grad());
    }
    CHECK(net->is_training());
    CHECK(net[0]->is_training());
    CHECK_FALSE(net[1]->is_training());
    CHECK(net->forward(torch::ones({2, 1})).requires_grad());
  });
}

TEST_CASE("evaluation: a batch without samples is refused") {
  test::run_ranks(1, [&](const Context&, const ProcessGroup& group) {
    nn::Linear net(1, 1);
    const auto make = [&] { EvaluationBatches(net.ptr(), group, torch::kCPU, 4, 0); };
    CHECK(test::contains(test::error_of(make), "an evaluation of 4 samples in batches of 0"));
  });
}

}  // namespace
}  // namespace ddprun::worker
