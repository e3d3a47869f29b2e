#include "worker/parallel/broadcast.hpp"

#include <torch/csrc/distributed/c10d/comm.hpp>

#include <cstddef>

namespace ddprun::worker {
namespace {

constexpr std::size_t bytes_at_a_time = 250 << 20;  // Python's broadcast_bucket_size

}  // namespace

void broadcast_from(int source,
                    const std::vector<torch::Tensor>& tensors,
                    const ProcessGroup& group) {
  if (group.size() == 1 || tensors.empty()) return;
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> values;
  values.reserve(tensors.size());
  for (const auto& tensor : tensors) values.push_back(tensor.detach());
  c10d::broadcast_coalesced(group.native(), values, bytes_at_a_time, source);
}

}  // namespace ddprun::worker
