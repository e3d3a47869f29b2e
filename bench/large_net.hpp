// A network of 100.7 million parameters, whose snapshot with Adam's state has 1.2 GB.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {

struct LargeNet : torch::nn::Module {
  LargeNet() {
    constexpr std::int64_t width = 2048;
    constexpr int layers_count = 24;
    for (int i = 0; i < layers_count; ++i) {
      layers.push_back(register_parameter(std::to_string(i), torch::rand({width, width})));
    }
  }

  /// The sum of what `loss_of` gives for each layer.
  template <typename LossOf>
  torch::Tensor sum(const LossOf& loss_of) const {
    torch::Tensor loss = torch::zeros({});
    for (const torch::Tensor& layer : layers) loss = loss + loss_of(layer);
    return loss;
  }

  std::vector<torch::Tensor> layers;
};

}  // namespace ddprun
