// Weights that were trained before, by Python or by this runtime.
#pragma once

#include "ddprun/module_state.hpp"

#include <filesystem>

namespace ddprun::worker {

/// The weights in a file of PyTorch's, on the CPU, for load_state_dict(): a dict of names and
/// tensors, as Python's torch.save(model.state_dict(), path) writes, or one that is in a dict as
/// MODEL_STATE, as in snapshots, or as state_dict. A name that ends in .safetensors is read by
/// read_safetensors(). Without the "module." of Python's DistributedDataParallel. Throws Error
/// naming the path.
[[nodiscard]] StateDict read_weights(const std::filesystem::path& path);

/// Gives `module` the weights in such a file, all of them. Throws Error naming the path, with the
/// misfit() if they are another network's; the module is unchanged then.
void load_weights(const torch::nn::Module& module, const std::filesystem::path& path);

}  // namespace ddprun::worker
