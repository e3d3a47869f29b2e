// Whether the parameters of a model are still the same on all ranks.
#pragma once

#include "ddprun/process_group.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ddprun::worker {

/// Whether a parameter that differs by that between ranks, relative to its greatest absolute value,
/// is another one there, and not rounded otherwise. `before` is the difference at the check before,
/// `epsilon` that of the parameter's type. Processors of two kinds round differently: in a random
/// walk of one bit of a float a step, 1e6 steps are 6e-5 apart, and twice as many checks 1.4 times
/// as far.
[[nodiscard]] bool is_apart(double difference, double before, double epsilon);

class ReplicaCheck {
 public:
  /// The names are those of the parameters, which are the same on every rank.
  ReplicaCheck(std::vector<torch::Tensor> parameters, std::vector<std::string> names);

  /// Collective: one sum over the bits of each parameter is compared, and values only where it
  /// differs. Throws Error, the same on all ranks, that names a parameter which is_apart(), or of
  /// which one rank has a value that is not finite. Differences are relative to the greatest value
  /// that the checks have seen, so that a parameter may cross zero. Rank 0
  /// tells of a smaller difference once. `after` goes into the messages: "12 steps".
  void check(const ProcessGroup& group, const std::string& after);

 private:
  std::vector<torch::Tensor> parameters_;
  std::vector<std::string> names_;
  std::vector<double> differences_;  // at the last check
  std::vector<double> greatest_;     // until now
  bool has_warned_ = false;
};

}  // namespace ddprun::worker
