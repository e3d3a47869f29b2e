#include "worker/training/loss_check.hpp"

#include "ddprun/error.hpp"
#include "ddprun/finite.hpp"
#include "worker/torch_compat.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

namespace ddprun::worker {

std::optional<double> LossCheck::add(const torch::Tensor& loss, const Position& position) {
  if (loss.numel() != 1) {
    throw Error(text("backward() of a session got a loss of shape ",
                     loss.sizes(),
                     " in step ",
                     position.step,
                     " on rank ",
                     rank_,
                     "; it must be one number, such as the mean over the batch"));
  }
  if (loss.device().is_cpu()) {
    const double value = loss.item<double>();
    require_finite(value, position, rank_);
    return value;
  }
  Copy copy{torch::empty({1}, torch::TensorOptions(torch::kDouble).pinned_memory(true)),
            c10::Event(loss.device().type()),
            position};
  copy.loss.copy_(loss.detach().reshape({1}), /*non_blocking=*/true);
  const c10::impl::VirtualGuardImpl device(loss.device().type());
  copy.is_there.record(device.getStream(loss.device()));
  const std::optional<double> before = finish();
  newest_.emplace(std::move(copy));
  return before;
}

std::optional<double> LossCheck::finish() {
  if (!newest_) return std::nullopt;
  const Copy copy = *std::exchange(newest_, std::nullopt);
  compat::wait_for(copy.is_there);
  const double value = copy.loss.item<double>();
  require_finite(value, copy.position, rank_);
  return value;
}

}  // namespace ddprun::worker
