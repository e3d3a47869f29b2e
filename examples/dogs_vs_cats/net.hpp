// The network of dogs_vs_cats: the convolutions of VGG-16 with a head of two layers.
#pragma once

#include "ddprun/error.hpp"
#include "ddprun/vgg.hpp"
#include "ddprun/weights.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddprun::examples::dogs {

constexpr std::size_t first_tuned_layer = 24;  // of 31: the last three convolutions follow

/// From (N, 3, side, side) to (N,): positive for dogs.
struct NetImpl : torch::nn::Module {
  NetImpl(std::int64_t side, std::int64_t width)
      : features(worker::vgg16_features(width)),
        head(make_head(8 * width * (side / 32) * (side / 32))) {
    register_module("features", features);
    register_module("head", head);
  }
  static torch::nn::Sequential make_head(std::int64_t inputs) {
    torch::nn::Sequential head;  // not of one list, whose layers may draw weights from its end on
    head->push_back(torch::nn::Linear(inputs, 64));
    head->push_back(torch::nn::ReLU());
    head->push_back(torch::nn::Linear(64, 1));
    return head;
  }
  torch::Tensor forward(const torch::Tensor& images) {
    return head->forward(features->forward(images).flatten(1)).squeeze(1);
  }

  torch::nn::Sequential features;
  torch::nn::Sequential head;
};
TORCH_MODULE(Net);

/// From torchvision's VGG-16, whose classifier is left out, or from this job's own network.
inline void load_weights(Net& net, const std::string& path) {
  worker::StateDict taken;
  for (const auto& entry : worker::read_weights(path)) {
    if (!entry.key().starts_with("classifier.")) taken.insert(entry.key(), entry.value());
  }
  for (const auto& entry : worker::state_dict(*net->head)) {
    const std::string name = "head." + entry.key();
    if (!taken.contains(name)) taken.insert(name, entry.value());
  }
  if (const std::string misfit = worker::misfit(*net, taken); !misfit.empty()) {
    throw worker::Error(worker::text(
        path, " has no weights of this network: ", misfit, "; give those of a VGG-16"));
  }
  worker::load_state_dict(*net, taken);
}

/// Those layers of the features learn that are not before `first`; the head always does.
inline void train_layers_from(Net& net, std::size_t first) {
  for (std::size_t i = 0; i < net->features->size(); ++i) {
    for (torch::Tensor& each : net->features->ptr(i)->parameters())
      each.set_requires_grad(i >= first);
  }
}

/// For an optimizer: those that learn now.
inline std::vector<torch::Tensor> trained_parameters(const Net& net) {
  std::vector<torch::Tensor> trained;
  for (const torch::Tensor& each : net->parameters()) {
    if (each.requires_grad()) trained.push_back(each);
  }
  return trained;
}

}  // namespace ddprun::examples::dogs
