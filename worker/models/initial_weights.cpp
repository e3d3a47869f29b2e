#include "worker/models/initial_weights.hpp"

#include "ddprun/error.hpp"

namespace ddprun::worker::models {

void draw_convolutions(torch::nn::Module& network) {
  for (const auto& module : network.modules(/*include_self=*/false)) {
    const auto* convolution = module->as<torch::nn::Conv2d>();
    if (convolution == nullptr) continue;
    torch::nn::init::kaiming_normal_(convolution->weight, 0, torch::kFanOut, torch::kReLU);
    if (convolution->bias.defined()) torch::nn::init::zeros_(convolution->bias);
  }
}

void require_positive(std::int64_t value, const char* option) {
  if (value > 0) return;
  throw Error(text("cannot make a network: ", option, " is ", value, "; give at least 1"));
}

}  // namespace ddprun::worker::models
