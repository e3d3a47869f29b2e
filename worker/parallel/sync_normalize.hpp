// The arithmetic of SyncBatchNorm: one pass over the input for its statistics and one for the
// output, the same backward, and one collective in each direction.
#pragma once

#include "ddprun/process_group.hpp"

#include <torch/torch.h>

namespace ddprun::worker {

struct SyncNormalized {
  torch::Tensor output;             ///< As the input.
  torch::Tensor mean;               ///< (C,), over all ranks.
  torch::Tensor unbiased_variance;  ///< (C,), over all ranks.
};

/// `input`, (N, C, ...), normalised for each channel over the samples of all ranks, times `weight`
/// plus `bias`, (C,) or undefined. float16 and bfloat16 are computed in float32. Collective, and so
/// is the backward pass, which gives the gradients of weight and bias for this rank's samples
/// alone, as DistributedDataParallel expects. Throws Error, the same on all ranks, if they have
/// fewer than two values for each channel.
[[nodiscard]] SyncNormalized sync_normalize(const torch::Tensor& input,
                                            const torch::Tensor& weight,
                                            const torch::Tensor& bias,
                                            double eps,
                                            const ProcessGroup& group);

}  // namespace ddprun::worker
