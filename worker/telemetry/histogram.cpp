#include "worker/telemetry/histogram.hpp"

#include <algorithm>
#include <limits>

namespace ddprun::worker {
namespace {

/// SummaryWriter's "tensorflow" bins: 1e-12 and on by a factor of 1.1 up to 1e20, their negatives,
/// and 0 (torch/utils/tensorboard/writer.py).
std::vector<double> make_limits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  std::vector<double> limits;
  for (auto each = positive.rbegin(); each != positive.rend(); ++each) limits.push_back(-*each);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

/// Drops the empty buckets of both sides, as make_histogram() of Python does.
void set_buckets(Histogram& histogram,
                 const std::vector<double>& limits,
                 const torch::Tensor& counts) {
  const std::int64_t* const count = counts.data_ptr<std::int64_t>();
  std::size_t first = 0;
  while (count[first] == 0) ++first;
  std::size_t last = limits.size() - 1;
  while (count[last] == 0) --last;
  histogram.limits.push_back(limits[first - 1]);
  histogram.counts.push_back(0);
  for (std::size_t i = first; i <= last; ++i) {
    histogram.limits.push_back(limits[i]);
    histogram.counts.push_back(static_cast<double>(count[i]));
  }
}

}  // namespace

std::optional<Histogram> histogram_of(const torch::Tensor& values) {
  constexpr std::int64_t piece_count = 1 << 20;  // bounds the memory
  static const std::vector<double> limits = make_limits();
  static const torch::Tensor limits_tensor = torch::tensor(limits, torch::kDouble);
  const std::int64_t last = limits_tensor.numel() - 1;
  const double infinity = std::numeric_limits<double>::infinity();
  Histogram histogram{infinity, -infinity, 0, 0, 0, {}, {}};
  torch::Tensor counts = torch::zeros(last + 1, torch::kLong);
  for (const torch::Tensor& piece : values.detach().reshape(-1).split(piece_count)) {
    torch::Tensor some = piece.to(torch::kCPU, torch::kDouble);
    some = some.masked_select(some.isfinite());
    if (some.numel() == 0) continue;
    histogram.min = std::min(histogram.min, some.min().item<double>());
    histogram.max = std::max(histogram.max, some.max().item<double>());
    histogram.count += static_cast<double>(some.numel());
    histogram.sum += some.sum().item<double>();
    histogram.sum_of_squares += some.dot(some).item<double>();
    // Bucket i: limits[i - 1] <= value < limits[i]. Those beyond all limits go into the outermost.
    const torch::Tensor buckets =
        torch::bucketize(some, limits_tensor, /*out_int32=*/false, /*right=*/true).clamp(1, last);
    counts += torch::bincount(buckets, {}, last + 1);
  }
  if (histogram.count == 0) return std::nullopt;
  set_buckets(histogram, limits, counts);
  return histogram;
}

}  // namespace ddprun::worker
