// Tensors and texts that become equal on all ranks.
#pragma once

#include "ddprun/process_group.hpp"

#include <torch/torch.h>

#include <string>
#include <vector>

namespace ddprun::worker {

/// Collective. Gives the tensors of every rank the values of those of rank `source`. Their shapes,
/// layouts and order are the same on all ranks. Small ones travel together; large ones in pieces,
/// from where they are to where they are, so that they are not copied.
void broadcast_from(int source,
                    const std::vector<torch::Tensor>& tensors,
                    const ProcessGroup& group);

/// Collective. The `text` of rank `root`, which is not empty, on every rank.
[[nodiscard]] std::string broadcast_text(const std::string& text,
                                         const ProcessGroup& group,
                                         int root);

}  // namespace ddprun::worker
