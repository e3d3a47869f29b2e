// Adds up a tensor on the GPUs over all ranks: TOTAL rounds of a thousand sums each. With one rank,
// too, it goes through NCCL, which the training of one rank does not need. With `gloo` after TOTAL
// it is copied to the CPU and goes through Gloo, as ranks that share a GPU need.
#include "ddprun/context.hpp"
#include "ddprun/process_group.hpp"
#include "ddprun/run.hpp"

#include <torch/torch.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace ddprun;

void add_up(const std::vector<std::string>& words) {
  const auto context = worker::Context::from_environment();
  const auto group = worker::ProcessGroup::connect(context);
  const torch::Tensor ones = torch::ones({1024}, worker::device_of(context));
  const bool by_gloo = words.size() > 1 && words[1] == "gloo";
  const torch::Device device = by_gloo ? torch::kCPU : ones.device();
  for (int round = 0; round < std::stoi(words.at(0)); ++round) {
    torch::Tensor sum;
    for (int i = 0; i < 1000; ++i) {
      sum = ones.to(device, /*non_blocking=*/false, /*copy=*/true);
      group.all_reduce_sum(sum);
    }
    std::printf("round %d: %g\n", round, sum[0].item<double>());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, add_up);
}
