#include "ddprun/finite.hpp"

#include "ddprun/error.hpp"

#include <cmath>

namespace ddprun::worker {

void require_finite(double loss, const Position& position, int rank) {
  if (std::isfinite(loss)) return;
  throw Error(text("the loss is ",
                   loss,
                   " in epoch ",
                   position.epoch,
                   ", step ",
                   position.step,
                   " on rank ",
                   rank,
                   "; a restart goes back to the newest snapshot: if it happens again at the same "
                   "step, go back to an older one, lower the learning rate, clip gradients or look "
                   "at the samples of this step"));
}

std::optional<std::string> find_nan(const StateDict& state) {
  for (const auto& named : state) {
    const torch::Tensor& tensor = named.value();
    const bool may_be = tensor.is_floating_point() || tensor.is_complex();
    if (!may_be || tensor.sum().isfinite().item<bool>()) continue;  // a NaN stays in any sum
    if (tensor.isnan().any().item<bool>()) return named.key();
  }
  return std::nullopt;
}

void require_no_nan(const StateDict& state, std::int64_t step) {
  const auto name = find_nan(state);
  if (!name) return;
  throw Error(
      text(*name,
           " holds a NaN at step ",
           step,
           ", so that no snapshot is saved; a restart goes back to the newest one: if it happens "
           "again, go back to an older one, lower the learning rate, clip gradients or look at "
           "the samples"));
}

}  // namespace ddprun::worker
