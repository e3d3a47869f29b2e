// How the values of a tensor are distributed, in the buckets of Python's SummaryWriter.
#pragma once

#include <torch/torch.h>

#include <optional>
#include <vector>

namespace ddprun::worker {

/// Bucket i has the values from limits[i - 1] to below limits[i]. Bucket 0 is empty: its limit is
/// the lower one of bucket 1, for which TensorBoard's format has no other place.
struct Histogram {
  double min;
  double max;
  double count;
  double sum;
  double sum_of_squares;
  std::vector<double> limits;
  std::vector<double> counts;
};

/// Of all finite values, nothing when there are none. `values` has any shape, device and type of
/// real numbers. Needs some 50 MiB for the largest tensor.
[[nodiscard]] std::optional<Histogram> histogram_of(const torch::Tensor& values);

}  // namespace ddprun::worker
