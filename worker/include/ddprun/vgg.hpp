// VGG-16 of Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
// Recognition" (arXiv:1409.1556), as torchvision has it: with its names of parameters, so that
// either side loads the other's state dict, and with its initial weights.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace ddprun::worker {

struct VGGOptions {
  std::int64_t classes_count = 1000;
  double dropout = 0.5;  ///< The share of features that both hidden layers drop in training.
};

class VGGImpl : public torch::nn::Module {
 public:
  /// VGG-16 without batch normalisation, 138 million parameters. Draws the initial weights from
  /// the default generator of the CPU as torchvision does: with the same seed they are equal bit
  /// by bit. Throws Error unless the count is positive and 0 <= dropout <= 1.
  explicit VGGImpl(const VGGOptions& options = {});

  /// The logits, (N, classes_count), of `images`, (N, 3, H, W) with H and W at least 32; both
  /// floating-point.
  torch::Tensor forward(const torch::Tensor& images);

 private:
  torch::nn::Sequential features_;
  torch::nn::Sequential classifier_;
};
TORCH_MODULE(VGG);

[[nodiscard]] VGG vgg16(const VGGOptions& options = {});

inline constexpr std::int64_t vgg16_width = 64;

/// The 31 layers of `features` alone, 14.7 million parameters, for a head of one's own: from
/// (N, 3, H, W) to (N, 8 * width, H / 32, W / 32). `width`: the channels that the first layers
/// make; fewer than VGG-16's give a smaller network for a first try. Draws the initial weights as
/// torchvision does; with one seed they are not those of vgg16(), which draws those of its
/// classifier in between. Throws Error unless the width is positive.
[[nodiscard]] torch::nn::Sequential vgg16_features(std::int64_t width = vgg16_width);

}  // namespace ddprun::worker
