// The weights that a training begins with, if not with random ones.
#pragma once

#include "ddprun/process_group.hpp"

#include <torch/torch.h>

#include <string>

namespace ddprun::examples {

/// Gives `net` the weights in the file `path`, all of them; an empty path changes nothing.
/// Collective. Throws Error, the same on all ranks, that names the file and what is missing there.
void load_weights(torch::nn::Module& net,
                  const std::string& path,
                  const worker::ProcessGroup& group);

}  // namespace ddprun::examples
