// Named means over the samples of all ranks, such as losses and shares of right guesses, which are
// added up where their values are.
#pragma once

#include "ddprun/mean.hpp"
#include "ddprun/process_group.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <string>

namespace ddprun::worker {

class Metrics {
 public:
  /// Adds `sum`, of one element, as that of `count` values of the mean `name`. Never waits for a
  /// GPU. All of a mean are on one device.
  void add(const std::string& name, const torch::Tensor& sum, std::int64_t count = 1);

  /// The means of what all ranks have added since the last call, in float64, of all names that one
  /// of them has used. Collective, also for a rank that has added nothing. Waits for this rank's
  /// device. Throws Error if the names of a rank have more than a MiB.
  [[nodiscard]] std::map<std::string, double> over(const ProcessGroup& group);

 private:
  std::map<std::string, Mean> means_;
};

}  // namespace ddprun::worker
