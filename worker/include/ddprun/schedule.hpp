// Learning rates over the course of training. A schedule is a function of how much of the training
// is done, and of nothing else: it has no state that a snapshot would have to keep, and means the
// same for a job of another number of ranks.
#pragma once

#include <functional>
#include <vector>

namespace ddprun::worker {

/// By what the learning rates are multiplied after `epochs` epochs; 2.5 is the middle of the third.
using Schedule = std::function<double(double epochs)>;

struct CosineScheduleOptions {
  double epochs = 1;         ///< When it ends. More than warmup_epochs.
  double warmup_epochs = 0;  ///< Until then the factor grows in a line from warmup_start to 1.
  double warmup_start = 0.01;
  double end = 0;  ///< The last factor, which then stays.
};

/// From 1 to `end` by half a wave of the cosine, as PyTorch's CosineAnnealingLR (Loshchilov and
/// Hutter 2016). Throws Error.
[[nodiscard]] Schedule cosine_schedule(const CosineScheduleOptions& options);

/// Multiplies by `factor` at each of `milestones`, in epochs, as PyTorch's MultiStepLR.
[[nodiscard]] Schedule multi_step_schedule(std::vector<double> milestones, double factor = 0.1);

}  // namespace ddprun::worker
