// Tensors that become equal on all ranks.
#pragma once

#include "ddprun/process_group.hpp"

#include <torch/torch.h>

#include <vector>

namespace ddprun::worker {

/// Collective. Gives the tensors of every rank the values of rank 0's, many of them at a time.
/// Their shapes and order are the same on all ranks.
void broadcast_from_rank_0(const std::vector<torch::Tensor>& tensors, const ProcessGroup& group);

}  // namespace ddprun::worker
