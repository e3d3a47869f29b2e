// How LibTorch computes for a session: in which order images lie in memory, and whether it may give
// other bits in each run.
#pragma once

#include <torch/torch.h>

namespace ddprun::worker {

/// `images`, (N, C, H, W), with the channels of a pixel side by side in memory, which convolutions
/// of GPUs with tensor cores and of oneDNN prefer. Tensors of other dimensions stay as they are.
[[nodiscard]] torch::Tensor in_channels_last(const torch::Tensor& images);

/// The same of all parameters and buffers. Optimizers and others that have them keep them.
void use_channels_last(const torch::nn::Module& module);

/// From now on operators of this process compute the same bits in each run, or throw where LibTorch
/// knows no such way. Throws Error for a GPU unless CUBLAS_WORKSPACE_CONFIG, which cuBLAS reads
/// when it begins, has a value with which it does so: see "Results reproducibility" of NVIDIA's
/// cuBLAS documentation.
void compute_deterministically(torch::Device device);

}  // namespace ddprun::worker
