// A mean over the samples of all ranks, such as of losses or of right guesses. It is kept where its
// values are, so that adding to it never waits for a GPU.
#pragma once

#include "ddprun/process_group.hpp"

#include <torch/torch.h>

namespace ddprun::worker {

class Mean {
 public:
  /// Adds `sum`, of one element, as that of `count` values. All of a mean are on one device.
  void add(const torch::Tensor& sum, double count = 1);

  /// The mean of what all ranks have added since the last call, in float64; NaN if none has added
  /// anything. Collective, also for a rank that has added nothing. Waits for this rank's device.
  [[nodiscard]] double over(const ProcessGroup& group);
  /// The same of this rank alone. Not collective.
  [[nodiscard]] double over_this_rank();

  /// (2,) float64 on the CPU: the sum of what this rank has added since the last call, and the
  /// count. Waits for this rank's device.
  [[nodiscard]] torch::Tensor take();

 private:
  torch::Tensor sum_;  // (1,) float64 on the device of what was added; undefined until then
  double count_ = 0;
};

}  // namespace ddprun::worker
