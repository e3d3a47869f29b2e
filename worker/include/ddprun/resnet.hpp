// ResNet-18, 34, 50, 101 and 152 of He et al., "Deep Residual Learning for Image Recognition"
// (arXiv:1512.03385), as torchvision has them: with its names of parameters and buffers, so that
// either side loads the other's state dict, and with its initial weights. A bottleneck has its
// stride in the 3x3 convolution, as torchvision's ("ResNet v1.5").
#pragma once

#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <functional>

namespace ddprun::worker {

struct ResNetOptions {
  std::int64_t classes_count = 1000;
  /// For images of 32x32, as CIFAR's: the first convolution is 3x3 with a stride of 1, and no
  /// pooling follows. torchvision has no such network; it then is one with `conv1` and `maxpool`
  /// replaced.
  bool small_images = false;
  /// Makes each norm, of `channels_count` channels, as torchvision's norm_layer: such as a
  /// SyncBatchNorm. It takes and returns one tensor. Null: BatchNorm2d.
  std::function<torch::nn::AnyModule(std::int64_t channels_count)> norm_layer;
};

enum class ResNetBlock : std::uint8_t {
  basic,       ///< Two convolutions of 3x3.
  bottleneck,  ///< 1x1, 3x3 and 1x1, with four times the channels at its end.
};

class ResNetImpl : public torch::nn::Module {
 public:
  /// `blocks_counts`: the blocks in layer1 to layer4. Draws the initial weights from the default
  /// generator of the CPU as torchvision does: with the same seed they are equal bit by bit.
  /// Throws Error unless all counts are positive.
  ResNetImpl(ResNetBlock block,
             const std::array<std::int64_t, 4>& blocks_counts,
             const ResNetOptions& options = {});

  /// The logits, (N, classes_count), of `images`, (N, 3, H, W); both floating-point.
  torch::Tensor forward(const torch::Tensor& images);

 private:
  bool small_images_;
  torch::nn::Conv2d conv1_;
  torch::nn::AnyModule bn1_;
  std::array<torch::nn::Sequential, 4> layers_;
  torch::nn::Linear fc_;
};
TORCH_MODULE(ResNet);

[[nodiscard]] ResNet resnet18(const ResNetOptions& options = {});
[[nodiscard]] ResNet resnet34(const ResNetOptions& options = {});
[[nodiscard]] ResNet resnet50(const ResNetOptions& options = {});
[[nodiscard]] ResNet resnet101(const ResNetOptions& options = {});
[[nodiscard]] ResNet resnet152(const ResNetOptions& options = {});

}  // namespace ddprun::worker
