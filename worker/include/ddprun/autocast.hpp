// Mixed precision: operators that gain by it compute in a type of 16 bits, as torch.autocast does.
#pragma once

#include <torch/torch.h>

#include <optional>

namespace ddprun::worker {

/// While alive, this thread's operators on that type of device choose between `type`, which is
/// kHalf or kBFloat16, and float32. For the forward pass and the loss; backward passes follow their
/// forward passes. May be nested. Without a type nothing changes.
class Autocast {
 public:
  /// Throws Error for another type.
  Autocast(torch::Device device, std::optional<torch::ScalarType> type);
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  ~Autocast();

 private:
  torch::DeviceType device_;
  std::optional<torch::ScalarType> type_;
  bool was_enabled_ = false;
  torch::ScalarType former_type_ = torch::kFloat;
};

}  // namespace ddprun::worker
