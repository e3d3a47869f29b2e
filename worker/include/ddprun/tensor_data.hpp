// A data set in memory.
#pragma once

#include "ddprun/data_set.hpp"

#include <torch/torch.h>

#include <cstdint>

namespace ddprun::worker {

/// A DataSet of two tensors, on any device if only batch() is used.
class TensorData {
 public:
  /// `inputs` and `targets` have the samples in their first dimension, at least one, and stay
  /// shared. Throws Error if they have not equally many.
  TensorData(torch::Tensor inputs, torch::Tensor targets);

  [[nodiscard]] std::int64_t size() const { return inputs_.size(0); }
  /// Views of the two tensors; nothing is drawn.
  [[nodiscard]] Sample get(std::int64_t index, torch::Generator& draws) const;
  /// Copies of many samples at once, faster than by a BatchLoader. `samples`: (B,) int64 on the
  /// device of the tensors, such as Step::samples.
  [[nodiscard]] Batch batch(const torch::Tensor& samples) const;

 private:
  torch::Tensor inputs_;
  torch::Tensor targets_;
};

}  // namespace ddprun::worker
