// Trains one model on all ranks: every rank holds a copy, works on its own part of the batch, and
// the averaged gradients arrive while backward() is still running. c10d::Reducer does the work, as
// it does for Python's DistributedDataParallel, so that results agree with it.
#pragma once

#include "ddprun/process_group.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace c10d {
class Logger;
class Reducer;
}  // namespace c10d

namespace ddprun::worker {

struct DistributedDataParallelOptions {
  std::int64_t bucket_bytes = 25 << 20;       ///< Gradients sent at a time; Python's default.
  std::int64_t first_bucket_bytes = 1 << 20;  ///< The first bucket is small so that sending starts.
  bool broadcast_buffers = true;  ///< Buffers follow rank 0 before each synchronised forward pass.
};

/// The part that does not depend on the type of the model. Not for use from several threads.
class GradientSynchronizer {
 public:
  /// Collective. Checks that `module` is the same on every rank (see require_same_model), then
  /// gives every rank the values of rank 0. Parameters with requires_grad must all take part in
  /// each backward pass; later changes of requires_grad are not seen. Throws Error.
  GradientSynchronizer(const torch::nn::Module& module,
                       const ProcessGroup& group,
                       const DistributedDataParallelOptions& options);

  void before_forward();
  void after_forward();
  void zero_grad();

  [[nodiscard]] bool is_synchronising() const { return synchronising_; }
  void set_synchronising(bool value) { synchronising_ = value; }

 private:
  void make_reducer(const torch::nn::Module& module,
                    const ProcessGroup& group,
                    const DistributedDataParallelOptions& options);

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::vector<torch::Tensor> parameters_;  // those with requires_grad, each once
  std::vector<torch::Tensor> buffers_;
  bool broadcast_buffers_;
  bool synchronising_ = true;
  bool buffers_may_differ_ = true;
  std::shared_ptr<c10d::Reducer> reducer_;
  std::shared_ptr<c10d::Logger> logger_;  // the reducer only observes it
};

/// While alive, backward() adds to the gradients of this rank and sends nothing: for accumulating
/// micro-batches. The first backward pass of a forward pass made after it sends the sum.
class NoSync {
 public:
  explicit NoSync(GradientSynchronizer& synchronizer)
      : synchronizer_(synchronizer), before_(synchronizer.is_synchronising()) {
    synchronizer_.set_synchronising(false);
  }
  NoSync(const NoSync&) = delete;
  NoSync& operator=(const NoSync&) = delete;
  ~NoSync() { synchronizer_.set_synchronising(before_); }

 private:
  GradientSynchronizer& synchronizer_;
  bool before_;
};

/// `Module` is a module holder (torch::nn::Sequential, a TORCH_MODULE) or a shared_ptr to a module.
template <typename Module>
class DistributedDataParallel {
 public:
  /// Collective; see GradientSynchronizer. `module` is shared, not copied; its optimizer should be
  /// made from module->parameters() and stays valid.
  DistributedDataParallel(Module module,
                          const ProcessGroup& group,
                          const DistributedDataParallelOptions& options = {})
      : module_(std::move(module)), synchronizer_(*module_, group, options) {}

  /// The output of the module. Collective while gradients are enabled: all ranks must call it as
  /// often, and each call must be followed by one backward() from its output.
  template <typename... Arguments>
  auto forward(Arguments&&... arguments) {
    synchronizer_.before_forward();
    auto output = module_->forward(std::forward<Arguments>(arguments)...);
    synchronizer_.after_forward();
    return output;
  }

  template <typename... Arguments>
  auto operator()(Arguments&&... arguments) {
    return forward(std::forward<Arguments>(arguments)...);
  }

  /// Forgets all gradients; the next backward pass makes new ones.
  void zero_grad() { synchronizer_.zero_grad(); }

  /// Gradients stay local for the life of the returned object.
  [[nodiscard]] NoSync no_sync() { return NoSync(synchronizer_); }

  [[nodiscard]] const Module& module() const { return module_; }

 private:
  Module module_;
  GradientSynchronizer synchronizer_;
};

}  // namespace ddprun::worker
