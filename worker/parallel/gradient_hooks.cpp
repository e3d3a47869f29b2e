#include "worker/parallel/gradient_hooks.hpp"

#include "worker/parallel/backward_watch.hpp"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function_hook.h>

#include <mutex>

namespace ddprun::worker {

using torch::autograd::variable_list;

/// LibTorch calls hooks on a thread for each kind of device.
struct GradientHooks::Guarded {
  std::mutex mutex;
  BackwardWatch watch;
};

class GradientHooks::Hook : public torch::autograd::FunctionPostHook {
 public:
  Hook(std::shared_ptr<Guarded> watch, std::size_t index)
      : watch_(std::move(watch)), index_(index) {}

  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    const std::lock_guard lock(watch_->mutex);
    if (watch_->watch.gradient(index_)) {
      torch::autograd::Engine::get_default_engine().queue_callback([watch = watch_] {
        const std::lock_guard lock_at_end(watch->mutex);
        watch->watch.end_pass();
      });
    }
    return outputs;
  }

 private:
  std::shared_ptr<Guarded> watch_;
  std::size_t index_;
};

GradientHooks::GradientHooks(const std::vector<torch::Tensor>& parameters,
                             std::vector<std::string> names)
    : watch_(new Guarded{{}, BackwardWatch(std::move(names))}) {
  hooks_.reserve(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto accumulator = torch::autograd::impl::grad_accumulator(parameters[i]);
    const std::uintptr_t key = accumulator->add_post_hook(std::make_unique<Hook>(watch_, i));
    hooks_.emplace_back(std::move(accumulator), key);
  }
}

GradientHooks::~GradientHooks() {
  for (const auto& [accumulator, key] : hooks_) accumulator->del_post_hook(key);
}

void GradientHooks::forward(bool synchronised) {
  const std::lock_guard lock(watch_->mutex);
  watch_->watch.forward(synchronised);
}

void GradientHooks::end_no_sync() {
  const std::lock_guard lock(watch_->mutex);
  watch_->watch.end_no_sync();
}

}  // namespace ddprun::worker
