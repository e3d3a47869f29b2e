// The losses of training, each of which must be finite. A GPU is not waited for: the loss of a step
// is copied beside its work, and read when the next one is there.
#pragma once

#include "ddprun/position.hpp"

#include <c10/core/Event.h>
#include <torch/torch.h>

#include <optional>

namespace ddprun::worker {

class LossCheck {
 public:
  explicit LossCheck(int rank) : rank_(rank) {}

  /// Takes the loss of the step at `position`, of one element. The result is this loss if it is on
  /// the CPU, else the one that was added before, if there is one. Throws Error for it, as
  /// require_finite() does.
  std::optional<double> add(const torch::Tensor& loss, const Position& position);

  /// The newest loss on a GPU, which this waits for; nothing if that was done. Throws Error.
  std::optional<double> finish();

 private:
  struct Copy {
    torch::Tensor loss;  // (1,) float64 in pinned memory
    c10::Event is_there;
    Position position;
  };

  int rank_;
  std::optional<Copy> newest_;
};

}  // namespace ddprun::worker
