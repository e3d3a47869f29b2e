#include "worker/telemetry/histogram.hpp"

#include "tests/worker/telemetry/event_reader.hpp"
#include "worker/telemetry/summary.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>

namespace ddprun::worker {
namespace {

/// The buckets that are not empty, by their upper limits.
std::map<double, double> filled_buckets(const Histogram& histogram) {
  std::map<double, double> buckets;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] > 0) buckets[histogram.limits[i]] = histogram.counts[i];
  }
  return buckets;
}

torch::Tensor nine_values() {
  return torch::tensor({-1.5, -0.25, 0.0, 0.0, 1e-13, 0.25, 1.0, 1.0, 3.5}, torch::kDouble);
}

// torch.utils.tensorboard.summary.histogram("h", values, SummaryWriter(...).default_bins) of
// PyTorch 2.15 and tensorboard 2.21, for the values above: 602 buckets, 9689 bytes as a Value.
TEST_CASE("histogram: the buckets are those of Python's SummaryWriter, to the byte") {
  const auto histogram = histogram_of(nine_values());
  REQUIRE(histogram);
  CHECK(histogram->limits.size() == 602);
  CHECK(histogram->limits.front() == -1.624957930213695);
  CHECK(histogram->counts.front() == 0);
  CHECK(filled_buckets(*histogram) == std::map<double, double>{{-1.47723448201245, 1},
                                                               {-0.24153964213356663, 1},
                                                               {1e-12, 3},
                                                               {0.2656936063469233, 1},
                                                               {1.0089710279437536, 2},
                                                               {3.8315657995195243, 1}});
  const std::string encoded = histogram_value("h", *histogram).encoded();
  CHECK(encoded.size() == 9689);
  CHECK(test::slow_crc32c(encoded) == 0x2180d61);
}

TEST_CASE("histogram: shape, layout and type of the tensor do not matter") {
  const std::map<double, double> expected = filled_buckets(*histogram_of(nine_values()));
  CHECK(filled_buckets(*histogram_of(nine_values().reshape({3, 3}).t())) == expected);
  CHECK(filled_buckets(*histogram_of(nine_values().to(torch::kFloat).requires_grad_())) ==
        expected);
  const auto whole = histogram_of(torch::tensor({1, 1, 3}, torch::kInt));
  CHECK(whole->sum == 5);
  CHECK(whole->sum_of_squares == 11);
  CHECK(histogram_of(torch::tensor({true, false}))->count == 2);
}

TEST_CASE("histogram: values that are not finite are left out, huge ones are in the last bucket") {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto histogram =
      histogram_of(torch::tensor({std::nan(""), infinity, -infinity, 1e30, 2.0}));
  CHECK(histogram->count == 2);
  CHECK(histogram->max == doctest::Approx(1e30));
  CHECK(filled_buckets(*histogram).size() == 2);
  CHECK(filled_buckets(*histogram).rbegin()->first < 1e20);
  CHECK_FALSE(histogram_of(torch::tensor({std::nan("")})));
  CHECK_FALSE(histogram_of(torch::empty({0, 3})));
}

TEST_CASE("histogram: a tensor of several pieces has the sums of all") {
  const std::int64_t count = (1 << 21) + 5;
  const auto histogram = histogram_of(torch::ones(count, torch::kHalf));
  CHECK(histogram->count == count);
  CHECK(histogram->sum == count);
  CHECK(histogram->counts == std::vector<double>{0, count});
}

}  // namespace
}  // namespace ddprun::worker
