#include "ddprun/resnet.hpp"

#include "worker/models/initial_weights.hpp"

#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

namespace nn = torch::nn;
using torch::Tensor;

nn::Conv2d convolution(std::int64_t inputs, std::int64_t outputs, int size, std::int64_t stride) {
  return nn::Conv2d(
      nn::Conv2dOptions(inputs, outputs, size).stride(stride).padding(size / 2).bias(false));
}

nn::AnyModule norm_of(std::int64_t channels, const ResNetOptions& options) {
  return options.norm_layer ? options.norm_layer(channels)
                            : nn::AnyModule(nn::BatchNorm2d(channels));
}

std::int64_t outputs_of(ResNetBlock block, std::int64_t width) {
  return block == ResNetBlock::basic ? width : 4 * width;
}

/// Convolutions whose result is added to their input. If the two differ in shape, `downsample`
/// gives the input the shape of the result.
class BlockImpl : public nn::Module {
 public:
  BlockImpl(ResNetBlock block,
            std::int64_t inputs,
            std::int64_t width,
            std::int64_t stride,
            const ResNetOptions& options) {
    const std::int64_t outputs = outputs_of(block, width);
    if (stride != 1 || inputs != outputs) {
      downsample_ = nn::Sequential(convolution(inputs, outputs, 1, stride));
      downsample_->push_back(norm_of(outputs, options));
    }
    if (block == ResNetBlock::basic) {
      append(convolution(inputs, width, 3, stride), options);
      append(convolution(width, width, 3, 1), options);
    } else {
      append(convolution(inputs, width, 1, 1), options);
      append(convolution(width, width, 3, stride), options);
      append(convolution(width, outputs, 1, 1), options);
    }
    if (downsample_) register_module("downsample", downsample_);
  }

  Tensor forward(const Tensor& input) {
    Tensor output = input;
    for (std::size_t i = 0; i < convolutions_.size(); ++i) {
      output = norms_[i].forward(convolutions_[i](output));
      if (i + 1 < convolutions_.size()) output.relu_();
    }
    output += downsample_ ? downsample_->forward(input) : input;
    return output.relu_();
  }

 private:
  /// "conv1" and "bn1", and so on.
  void append(const nn::Conv2d& convolution, const ResNetOptions& options) {
    const std::string number = std::to_string(convolutions_.size() + 1);
    convolutions_.push_back(register_module("conv" + number, convolution));
    norms_.push_back(norm_of(convolution->options.out_channels(), options));
    register_module("bn" + number, norms_.back().ptr());
  }

  std::vector<nn::Conv2d> convolutions_;
  std::vector<nn::AnyModule> norms_;
  nn::Sequential downsample_{nullptr};
};
TORCH_MODULE(Block);

}  // namespace

ResNetImpl::ResNetImpl(ResNetBlock block,
                       const std::array<std::int64_t, 4>& blocks_counts,
                       const ResNetOptions& options)
    : small_images_(options.small_images),
      conv1_(small_images_ ? convolution(3, 64, 3, 1) : convolution(3, 64, 7, 2)),
      bn1_(norm_of(64, options)),
      fc_(nullptr) {
  models::require_positive(options.classes_count, "classes_count");
  register_module("conv1", conv1_);
  register_module("bn1", bn1_.ptr());
  std::int64_t inputs = 64;
  std::int64_t width = 64;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    models::require_positive(blocks_counts[layer], "a count of blocks");
    for (std::int64_t i = 0; i < blocks_counts[layer]; ++i) {
      layers_[layer]->push_back(Block(block, inputs, width, layer > 0 && i == 0 ? 2 : 1, options));
      inputs = outputs_of(block, width);
    }
    register_module("layer" + std::to_string(layer + 1), layers_[layer]);
    width *= 2;
  }
  fc_ = register_module("fc", nn::Linear(inputs, options.classes_count));
  models::draw_convolutions(*this);
}

Tensor ResNetImpl::forward(const Tensor& images) {
  Tensor features = bn1_.forward(conv1_(images)).relu_();
  if (!small_images_) features = torch::max_pool2d(features, 3, 2, 1);
  for (nn::Sequential& layer : layers_) features = layer->forward(features);
  return fc_(torch::adaptive_avg_pool2d(features, {1, 1}).flatten(1));
}

ResNet resnet18(const ResNetOptions& options) {
  return ResNet(ResNetBlock::basic, std::array<std::int64_t, 4>{2, 2, 2, 2}, options);
}

ResNet resnet34(const ResNetOptions& options) {
  return ResNet(ResNetBlock::basic, std::array<std::int64_t, 4>{3, 4, 6, 3}, options);
}

ResNet resnet50(const ResNetOptions& options) {
  return ResNet(ResNetBlock::bottleneck, std::array<std::int64_t, 4>{3, 4, 6, 3}, options);
}

ResNet resnet101(const ResNetOptions& options) {
  return ResNet(ResNetBlock::bottleneck, std::array<std::int64_t, 4>{3, 4, 23, 3}, options);
}

ResNet resnet152(const ResNetOptions& options) {
  return ResNet(ResNetBlock::bottleneck, std::array<std::int64_t, 4>{3, 8, 36, 3}, options);
}

}  // namespace ddprun::worker
