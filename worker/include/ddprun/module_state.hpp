// The parameters and buffers of a module under the names that Python gives them.
#pragma once

#include <torch/torch.h>

#include <string>

namespace ddprun::worker {

using StateDict = torch::OrderedDict<std::string, torch::Tensor>;

/// The parameters, then the buffers of `module` and its submodules, "conv1.weight". The tensors are
/// detached and share their storage with the module.
[[nodiscard]] StateDict state_dict(const torch::nn::Module& module);

/// How `state` does not fit `module`, for an error: how many entries are missing, not known and of
/// another shape, and the first of them. Empty if it fits. Reads no element of `state`.
[[nodiscard]] std::string misfit(const torch::nn::Module& module, const StateDict& state);

/// Copies `state` into `module`, whatever its device and type. Throws Error with the misfit(); the
/// module is unchanged then.
void load_state_dict(const torch::nn::Module& module, const StateDict& state);

/// Throws what load_state_dict() would; changes nothing, and reads no element of `state`.
void require_fit(const torch::nn::Module& module, const StateDict& state);

/// `state` as the dict that write_pt_file() takes. Tensors of other devices are copied to the CPU,
/// all others are shared.
[[nodiscard]] c10::IValue to_value(const StateDict& state);

/// The dict of names and tensors that `value` is; `what` names it in errors. Throws Error.
[[nodiscard]] StateDict to_state_dict(const c10::IValue& value, const std::string& what);

/// `state` without the "module." that Python's DistributedDataParallel puts before all names.
[[nodiscard]] StateDict without_ddp_prefix(const StateDict& state);

}  // namespace ddprun::worker
