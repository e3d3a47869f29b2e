// The initial weights that torchvision's networks for classification share.
#pragma once

#include <torch/torch.h>

namespace ddprun::worker::models {

/// Draws the weights of all convolutions in `network` anew, in the order of its submodules: normal
/// with the variance 2 / (outputs * area of the kernel), and biases of 0, as torchvision does.
/// LibTorch's own constructors have drawn others before, which advances the generator.
void draw_convolutions(torch::nn::Module& network);

/// Throws Error that names `option` unless `value` is positive.
void require_positive(std::int64_t value, const char* option);

}  // namespace ddprun::worker::models
