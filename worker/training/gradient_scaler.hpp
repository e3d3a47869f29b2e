// Losses that are multiplied, and gradients that are divided again, so that float16 keeps the small
// ones; see LossScale for the rule.
#pragma once

#include "worker/training/loss_scale.hpp"

#include <torch/torch.h>

#include <vector>

namespace ddprun::worker {

/// For each step: scaled() for each loss, then unscale() once, then take_overflow().
class GradientScaler {
 public:
  explicit GradientScaler(std::vector<torch::Tensor> parameters)
      : parameters_(std::move(parameters)) {}

  [[nodiscard]] torch::Tensor scaled(const torch::Tensor& loss) const { return loss * rule_.scale; }

  /// Divides all gradients of the parameters, unless that is done in this step already.
  void unscale();

  /// Whether one of them was not finite, which ends the step. The same on all ranks, since their
  /// gradients are. Waits for a GPU.
  [[nodiscard]] bool take_overflow();

  /// As Python's scaler.state_dict().
  [[nodiscard]] c10::IValue state() const;
  /// Throws Error naming the entry that does not fit.
  void load(const c10::IValue& state);

 private:
  std::vector<torch::Tensor> parameters_;
  LossScale rule_;
  torch::Tensor overflow_;  // (1,) float32, not zero if there is one; undefined before unscale()
};

}  // namespace ddprun::worker
