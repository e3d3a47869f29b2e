#include "ddprun/sync_batch_norm.hpp"

#include "ddprun/error.hpp"
#include "worker/parallel/sync_normalize.hpp"

namespace ddprun::worker {

void SyncBatchNormImpl::_check_input_dim(const torch::Tensor& input) {
  if (input.dim() >= 2 && input.size(1) == options.num_features()) return;
  throw Error(text("SyncBatchNorm of ",
                   options.num_features(),
                   " channels got an input of shape ",
                   input.sizes(),
                   "; give it (N, C) or (N, C, ...)"));
}

torch::Tensor SyncBatchNormImpl::forward(const torch::Tensor& input) {
  _check_input_dim(input);
  const bool tracks = options.track_running_stats();
  if (!is_training()) {
    return torch::batch_norm(
        input, weight, bias, running_mean, running_var, !tracks, 0, options.eps(), true);
  }
  const SyncNormalized normalized = sync_normalize(input, weight, bias, options.eps(), group_);
  if (tracks) {
    const torch::NoGradGuard no_grad;
    num_batches_tracked += 1;
    const auto momentum = options.momentum();
    const double share = momentum ? *momentum : 1 / num_batches_tracked.item<double>();
    running_mean.lerp_(normalized.mean.to(running_mean.scalar_type()), share);
    running_var.lerp_(normalized.unbiased_variance.to(running_var.scalar_type()), share);
  }
  return normalized.output;
}

}  // namespace ddprun::worker
