// A BatchNorm over the samples of all ranks, as Python's SyncBatchNorm: for batches so small on
// each rank that their own mean and variance are noise. Parameters and buffers have BatchNorm's
// names, so that either loads the other's state dict.
#pragma once

#include "ddprun/process_group.hpp"

#include <torch/torch.h>

namespace ddprun::worker {

class SyncBatchNormImpl
    : public torch::nn::NormImplBase<0, SyncBatchNormImpl, torch::nn::BatchNormOptions> {
 public:
  /// A number of channels will do for `norm_options`.
  SyncBatchNormImpl(const torch::nn::BatchNormOptions& norm_options, const ProcessGroup& group)
      : NormImplBase(norm_options), group_(group) {}

  /// `input`, (N, C) or (N, C, ...), normalised, in its shape and type. While training, the mean
  /// and the variance of each channel are those of all ranks' samples together, and the call is
  /// collective, as is its backward pass: all ranks must make both. Ranks may have other N and
  /// sizes, and N may be 0. In evaluation it communicates nothing. Throws Error, in training the
  /// same on all ranks, if the ranks have together fewer than two values for each channel; on this
  /// rank alone if the shape does not fit.
  torch::Tensor forward(const torch::Tensor& input);

 private:
  void _check_input_dim(const torch::Tensor& input) override;

  ProcessGroup group_;
};
TORCH_MODULE(SyncBatchNorm);

}  // namespace ddprun::worker
