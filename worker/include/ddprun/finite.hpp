// Training that has left the numbers. A NaN never goes away again, so the job is stopped, and says
// where, before a snapshot holds one. A snapshot without any may still lead to one: what makes a
// loss grow is older than the step where it ends.
#pragma once

#include "ddprun/snapshot.hpp"

#include <optional>
#include <string>

namespace ddprun::worker {

/// Throws Error naming epoch, step and rank when `loss`, which is of the step at `position`, is NaN
/// or infinite. For the value that a program has at hand for its log: there is no communication. A
/// rank that throws ends its job, and a NaN reaches the other ranks with the gradients anyway.
void require_finite(double loss, const Snapshot& position, int rank);

/// The name of the first tensor that holds a NaN, nothing when none does. Infinities may be meant,
/// as in the mask of an attention layer.
[[nodiscard]] std::optional<std::string> find_nan(const StateDict& state);

}  // namespace ddprun::worker
