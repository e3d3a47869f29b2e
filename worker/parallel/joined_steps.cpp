#include "worker/parallel/joined_steps.hpp"

#include "ddprun/error.hpp"

namespace ddprun::worker {

void JoinedSteps::begin(const JoinedStep& step) {
  step_ = step;
  is_due_ = true;
}

const JoinedStep& JoinedSteps::pass() {
  if (!is_due_) {
    throw Error(
        "a forward pass of the DistributedDataParallel that the other ranks do not make: while a "
        "Join lives, call next() before each forward pass with gradients, and make one for each");
  }
  is_due_ = false;
  return step_;
}

void JoinedSteps::end() const {
  if (is_due_) {
    throw Error(
        "next() was called again before this rank took part in the step: call the "
        "DistributedDataParallel, or shadow() if there is no batch, after each next() that returns "
        "true");
  }
}

}  // namespace ddprun::worker
