#include "worker/parallel/gradient_hooks.hpp"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function_hook.h>

#include <mutex>

namespace ddprun::worker {

using torch::autograd::variable_list;

/// LibTorch calls hooks on a thread for each kind of device.
struct GradientHooks::Guarded {
  std::mutex mutex;
  BackwardWatch watch;
  Calls calls;
};

class GradientHooks::Hook : public torch::autograd::FunctionPostHook {
 public:
  Hook(std::shared_ptr<Guarded> watch, std::size_t index)
      : watch_(std::move(watch)), index_(index) {}

  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    const std::lock_guard lock(watch_->mutex);
    if (watch_->watch.gradient(index_)) {
      watch_->calls.begin_pass();
      torch::autograd::Engine::get_default_engine().queue_callback([watch = watch_] {
        const std::lock_guard lock_at_end(watch->mutex);
        if (watch->watch.end_pass()) watch->calls.end_first_pass(watch->watch.order());
      });
    }
    return outputs;
  }

 private:
  std::shared_ptr<Guarded> watch_;
  std::size_t index_;
};

GradientHooks::GradientHooks(std::vector<torch::Tensor> parameters,
                             BackwardWatch watch,
                             Calls calls)
    : parameters_(std::move(parameters)),
      watch_(new Guarded{{}, std::move(watch), std::move(calls)}) {}

GradientHooks::~GradientHooks() {
  for (const auto& [index, hook] : hooks_) hook.first->del_post_hook(hook.second);
}

void GradientHooks::train() {
  std::vector<bool> is_trained(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    is_trained[i] = parameters_[i].requires_grad();
    if (!is_trained[i] || hooks_.contains(i)) continue;
    auto accumulator = torch::autograd::impl::grad_accumulator(parameters_[i]);
    const std::uintptr_t key = accumulator->add_post_hook(std::make_unique<Hook>(watch_, i));
    hooks_.try_emplace(i, std::move(accumulator), key);
  }
  const std::lock_guard lock(watch_->mutex);
  watch_->watch.set_trained(std::move(is_trained));
}

void GradientHooks::set_no_sync(bool is_on) {
  const std::lock_guard lock(watch_->mutex);
  watch_->watch.set_no_sync(is_on);
}

void GradientHooks::forward() {
  const std::lock_guard lock(watch_->mutex);
  watch_->watch.forward();
}

}  // namespace ddprun::worker
