#include "ddprun/distributed_data_parallel.hpp"

#include "worker/parallel/model_agreement.hpp"
#include "worker/torch_compat.hpp"

#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace ddprun::worker {
namespace {

constexpr std::size_t broadcast_bytes = 250 << 20;  // Python's broadcast_bucket_size

std::vector<torch::Tensor> detached(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> result;
  result.reserve(tensors.size());
  for (const auto& tensor : tensors) result.push_back(tensor.detach());
  return result;
}

}  // namespace

GradientSynchronizer::GradientSynchronizer(const torch::nn::Module& module,
                                           const ProcessGroup& group,
                                           const DistributedDataParallelOptions& options)
    : group_(group.native()),
      buffers_(module.buffers()),
      broadcast_buffers_(options.broadcast_buffers) {
  const torch::NoGradGuard no_grad;
  require_same_model(module, group);
  std::vector<torch::Tensor> state = detached(module.parameters());
  for (const auto& buffer : buffers_) state.push_back(buffer.detach());
  if (!state.empty()) c10d::broadcast_coalesced(group_, state, broadcast_bytes, 0);
  make_reducer(module, group, options);
}

void GradientSynchronizer::make_reducer(const torch::nn::Module& module,
                                        const ProcessGroup& group,
                                        const DistributedDataParallelOptions& options) {
  std::unordered_map<std::size_t, std::string> names;
  std::unordered_set<const void*> seen;
  for (const auto& named : module.named_parameters()) {
    const auto& parameter = named.value();
    if (!parameter.requires_grad()) continue;
    if (!seen.insert(parameter.unsafeGetTensorImpl()).second) continue;  // tied to an earlier one
    names[parameters_.size()] = named.key();
    parameters_.push_back(parameter);
  }
  if (parameters_.empty()) return;

  const std::vector<std::size_t> bytes{static_cast<std::size_t>(options.first_bucket_bytes),
                                       static_cast<std::size_t>(options.bucket_bytes)};
  auto [indices, limits] = c10d::compute_bucket_assignment_by_size(parameters_, bytes);
  // Gradients become ready roughly in the reverse of the order in which parameters are declared.
  std::reverse(indices.begin(), indices.end());
  std::reverse(limits.begin(), limits.end());
  reducer_ = compat::make_reducer(parameters_,
                                  {indices, limits},
                                  group.native(),
                                  options.bucket_bytes,
                                  options.first_bucket_bytes,
                                  names);
  logger_ = std::make_shared<c10d::Logger>(reducer_);
  reducer_->set_logger(logger_);
}

void GradientSynchronizer::before_forward() {
  if (!torch::GradMode::is_enabled()) return;
  if (reducer_ && synchronising_) reducer_->prepare_for_forward();
  // After the first backward pass the buckets follow the order in which gradients became ready.
  if (reducer_ && reducer_->should_rebuild_buckets()) reducer_->rebuild_buckets();
  if (broadcast_buffers_ && buffers_may_differ_ && !buffers_.empty()) {
    const torch::NoGradGuard no_grad;
    c10d::broadcast_coalesced(group_, detached(buffers_), broadcast_bytes, 0);
  }
}

void GradientSynchronizer::after_forward() {
  if (!torch::GradMode::is_enabled()) return;
  buffers_may_differ_ = synchronising_;
  // Without this call the reducer's hooks leave gradients alone, which is what no_sync is.
  if (reducer_ && synchronising_) reducer_->prepare_for_backward({});
}

void GradientSynchronizer::zero_grad() {
  for (auto& parameter : parameters_) parameter.mutable_grad() = torch::Tensor();
}

}  // namespace ddprun::worker
