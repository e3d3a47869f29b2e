// Watches the gradients that backward passes add to parameters; see BackwardWatch.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::worker {

class GradientHooks {
 public:
  /// Hooks the accumulation of gradients, as the reducer does, so torch::autograd::grad() is not
  /// seen. Hooks are called in the order in which they were made; where one throws, backward()
  /// does. `names` are those of `parameters`.
  GradientHooks(const std::vector<torch::Tensor>& parameters, std::vector<std::string> names);
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;
  ~GradientHooks();

  void forward(bool synchronised);
  void end_no_sync();

 private:
  class Hook;
  struct Guarded;
  using Accumulator = decltype(torch::autograd::impl::grad_accumulator(torch::Tensor()));

  std::shared_ptr<Guarded> watch_;
  std::vector<std::pair<Accumulator, std::uintptr_t>> hooks_;
};

}  // namespace ddprun::worker
