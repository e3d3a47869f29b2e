// Tensors that become equal on all ranks.
#pragma once

#include "ddprun/process_group.hpp"

#include <torch/torch.h>

#include <vector>

namespace ddprun::worker {

/// Collective. Gives the tensors of every rank the values of those of rank `source`, many of them
/// at a time. Their shapes and order are the same on all ranks.
void broadcast_from(int source,
                    const std::vector<torch::Tensor>& tensors,
                    const ProcessGroup& group);

}  // namespace ddprun::worker
