// Watches the gradients that backward passes add to parameters; see BackwardWatch.
#pragma once

#include "worker/parallel/backward_watch.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace ddprun::worker {

class GradientHooks {
 public:
  /// What is called on LibTorch's thread, one thread at a time.
  struct Calls {
    std::function<void()> begin_pass;  ///< At the first gradient that is to be averaged.
    /// At the end of the first complete pass: see BackwardWatch::order().
    std::function<void(const std::vector<std::int64_t>& order)> end_first_pass;
  };

  /// The parameters, each once, and the watch with their names; none is trained.
  GradientHooks(std::vector<torch::Tensor> parameters, BackwardWatch watch, Calls calls);
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;
  ~GradientHooks();

  /// From now on those with requires_grad are trained. Hooks the accumulation of their gradients,
  /// as the reducer does, so torch::autograd::grad() is not seen. Hooks are called in the order in
  /// which they were made, so make the reducer after this; where one throws, backward() does.
  void train();
  void set_no_sync(bool is_on);
  void forward();

 private:
  class Hook;
  struct Guarded;
  using Accumulator = decltype(torch::autograd::impl::grad_accumulator(torch::Tensor()));

  std::vector<torch::Tensor> parameters_;
  std::shared_ptr<Guarded> watch_;
  std::map<std::size_t, std::pair<Accumulator, std::uintptr_t>> hooks_;  // by the parameter's index
};

}  // namespace ddprun::worker
