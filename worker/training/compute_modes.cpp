#include "worker/training/compute_modes.hpp"

#include "ddprun/error.hpp"

#include <cstdlib>
#include <string_view>

namespace ddprun::worker {

torch::Tensor in_channels_last(const torch::Tensor& images) {
  return images.dim() == 4 ? images.contiguous(torch::MemoryFormat::ChannelsLast) : images;
}

void use_channels_last(const torch::nn::Module& module) {
  for (torch::Tensor& each : module.parameters()) each.set_data(in_channels_last(each.detach()));
  for (torch::Tensor& each : module.buffers()) each.set_data(in_channels_last(each.detach()));
}

void compute_deterministically(torch::Device device) {
  const char* variable = std::getenv("CUBLAS_WORKSPACE_CONFIG");
  const std::string_view value = variable != nullptr ? variable : "";
  if (device.is_cuda() && value != ":4096:8" && value != ":16:8") {
    throw Error(
        text("deterministic needs CUBLAS_WORKSPACE_CONFIG=:4096:8, or :16:8 for less "
             "memory, in the environment of the program, but it is ",
             variable != nullptr ? text("\"", value, "\"") : "not set",
             "; export it before ddprun starts"));
  }
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  at::globalContext().setBenchmarkCuDNN(false);  // it takes what is fastest in this run
}

}  // namespace ddprun::worker
