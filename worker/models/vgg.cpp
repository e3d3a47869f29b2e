#include "ddprun/vgg.hpp"

#include "ddprun/error.hpp"
#include "worker/models/initial_weights.hpp"

namespace ddprun::worker {

namespace nn = torch::nn;
using torch::Tensor;

namespace {

/// With the initial weights of Conv2d.
nn::Sequential convolutions(std::int64_t width) {
  nn::Sequential layers;
  std::int64_t inputs = 3;
  const auto append = [&](std::int64_t outputs, int convolutions_count) {
    for (int i = 0; i < convolutions_count; ++i) {
      layers->push_back(nn::Conv2d(nn::Conv2dOptions(inputs, outputs, 3).padding(1)));
      layers->push_back(nn::ReLU(nn::ReLUOptions(true)));
      inputs = outputs;
    }
    layers->push_back(nn::MaxPool2d(2));
  };
  append(width, 2);
  append(2 * width, 2);
  append(4 * width, 3);
  append(8 * width, 3);
  append(8 * width, 3);
  return layers;
}

}  // namespace

VGGImpl::VGGImpl(const VGGOptions& options) {
  models::require_positive(options.classes_count, "classes_count");
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    throw Error(text("cannot make a network: dropout is ", options.dropout, "; give 0 to 1"));
  }
  features_ = convolutions(vgg16_width);
  std::int64_t features = 512 * 7 * 7;
  for (int hidden = 0; hidden < 2; ++hidden) {
    classifier_->push_back(nn::Linear(features, 4096));
    classifier_->push_back(nn::ReLU(nn::ReLUOptions(true)));
    classifier_->push_back(nn::Dropout(options.dropout));
    features = 4096;
  }
  classifier_->push_back(nn::Linear(features, options.classes_count));
  register_module("features", features_);
  register_module("classifier", classifier_);

  models::draw_convolutions(*features_);
  for (const auto& module : classifier_->children()) {
    const auto* linear = module->as<nn::Linear>();
    if (linear == nullptr) continue;
    nn::init::normal_(linear->weight, 0, 0.01);
    nn::init::zeros_(linear->bias);
  }
}

Tensor VGGImpl::forward(const Tensor& images) {
  const Tensor features = torch::adaptive_avg_pool2d(features_->forward(images), {7, 7});
  return classifier_->forward(features.flatten(1));
}

VGG vgg16(const VGGOptions& options) {
  return VGG(options);
}

nn::Sequential vgg16_features(std::int64_t width) {
  models::require_positive(width, "width");
  nn::Sequential layers = convolutions(width);
  models::draw_convolutions(*layers);
  return layers;
}

}  // namespace ddprun::worker
