// Ranks can only average the gradients of one model. If they have built different models, such as
// from different files, this throws an error with the rank and the entry that differs.
#pragma once

#include "ddprun/process_group.hpp"

#include <torch/torch.h>

namespace ddprun::worker {

/// Collective. Returns when `module` has the same parameters and buffers on all ranks: names,
/// order, shapes, strides, types, devices and requires_grad. Throws Error otherwise, the same on
/// all ranks: it names the first rank that differs from rank 0 and the first entry in which it
/// does.
void require_same_model(const torch::nn::Module& module, const ProcessGroup& group);

}  // namespace ddprun::worker
