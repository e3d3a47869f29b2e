#include "ddprun/autocast.hpp"

#include "ddprun/error.hpp"
#include "worker/torch_compat.hpp"

#include <ATen/autocast_mode.h>

namespace ddprun::worker {

Autocast::Autocast(torch::Device device, std::optional<torch::ScalarType> type)
    : device_(device.type()), type_(type) {
  if (!type_) return;
  if (*type_ != torch::kHalf && *type_ != torch::kBFloat16) {
    throw Error(text("operators cannot be cast to ", *type_, "; use kHalf or kBFloat16"));
  }
  was_enabled_ = compat::is_autocast_on(device_);
  former_type_ = compat::autocast_type(device_);
  compat::set_autocast(device_, true, *type_);
  at::autocast::increment_nesting();
}

/// What was cast once is kept until the outermost one ends.
Autocast::~Autocast() {
  if (!type_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  compat::set_autocast(device_, was_enabled_, former_type_);
}

}  // namespace ddprun::worker
