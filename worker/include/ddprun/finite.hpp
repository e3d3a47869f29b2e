// Training that has produced a NaN. A NaN never goes away, so the job stops, with an error that
// says where, before a snapshot holds one. A snapshot without a NaN may still lead to one: the
// cause of a growing loss is older than the step with the NaN.
#pragma once

#include "ddprun/module_state.hpp"
#include "ddprun/position.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace ddprun::worker {

/// Throws Error naming epoch, step and rank when `loss`, which is of the step at `position`, is NaN
/// or infinite. For the loss that a program logs anyway: there is no communication. A
/// rank that throws ends its job, and a NaN reaches the other ranks with the gradients anyway.
void require_finite(double loss, const Position& position, int rank);

/// The name of the first tensor that holds a NaN, nothing when none does. Infinities may be meant,
/// as in the mask of an attention layer.
[[nodiscard]] std::optional<std::string> find_nan(const StateDict& state);

/// Throws Error that says what to do if `state`, which would be saved at `step`, holds a NaN.
void require_no_nan(const StateDict& state, std::int64_t step);

}  // namespace ddprun::worker
