// Whether LibTorch can use a device on this machine.
#pragma once

#include <torch/torch.h>

namespace ddprun::worker {

/// Throws Error unless LibTorch can use this device here. `who` wants to, such as "a batch loader".
void require_device(const torch::Device& device, const char* who);

}  // namespace ddprun::worker
