// Which forward pass of a DistributedDataParallel belongs to which step of a Join. Pure.
//
// A pass that the other ranks do not make would meet their next collective, which fails much later
// and says nothing.
#pragma once

#include <cstdint>

namespace ddprun::worker {

/// What the ranks have agreed on for one step.
struct JoinedStep {
  int buffers_from;  ///< The rank whose buffers all others take.
  int divisor;       ///< Of the sum of the gradients.
};

class JoinedSteps {
 public:
  /// A step begins: one synchronised forward pass is due.
  void begin(const JoinedStep& step);
  /// That pass; throws Error if none is due.
  const JoinedStep& pass();
  /// The step is over; throws Error if its pass was not made.
  void end() const;

 private:
  JoinedStep step_{};
  bool is_due_ = false;
};

}  // namespace ddprun::worker
