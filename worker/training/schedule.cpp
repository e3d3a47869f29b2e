#include "ddprun/schedule.hpp"

#include "ddprun/error.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace ddprun::worker {

Schedule cosine_schedule(const CosineScheduleOptions& options) {
  if (!(options.warmup_epochs >= 0 && options.epochs > options.warmup_epochs)) {
    throw Error(text("a schedule of ",
                     options.epochs,
                     " epochs cannot warm up for ",
                     options.warmup_epochs,
                     "; its warm-up must be shorter"));
  }
  return [options](double epochs) {
    if (epochs < options.warmup_epochs) {
      return options.warmup_start + (1 - options.warmup_start) * epochs / options.warmup_epochs;
    }
    const double done =
        std::min((epochs - options.warmup_epochs) / (options.epochs - options.warmup_epochs), 1.0);
    return options.end + (1 - options.end) * (1 + std::cos(std::numbers::pi * done)) / 2;
  };
}

Schedule multi_step_schedule(std::vector<double> milestones, double factor) {
  return [milestones = std::move(milestones), factor](double epochs) {
    const auto passed = std::count_if(
        milestones.begin(), milestones.end(), [&](double each) { return epochs >= each; });
    return std::pow(factor, static_cast<double>(passed));
  };
}

}  // namespace ddprun::worker
