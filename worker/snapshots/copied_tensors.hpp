// Copies of tensors, wherever they are in a value of a snapshot.
#pragma once

#include "ddprun/module_state.hpp"

#include <torch/torch.h>

#include <functional>

namespace ddprun::worker {

/// `value` with `change` made of each tensor in it. Dicts, lists and tuples are new ones, and lists
/// have no type, since Python refuses typed ones.
[[nodiscard]] c10::IValue with_tensors(
    const c10::IValue& value, const std::function<torch::Tensor(const torch::Tensor&)>& change);

/// On the CPU, detached, and no longer in the order of channels last, so that files do not depend on
/// it; shares its memory with `tensor` if that is so already.
[[nodiscard]] torch::Tensor on_cpu(const torch::Tensor& tensor);

/// On the CPU, detached, with memory of its own. Made by the calling thread alone, so that it can
/// be beside a training.
[[nodiscard]] torch::Tensor copied(const torch::Tensor& tensor);
[[nodiscard]] StateDict copied(const StateDict& state);
[[nodiscard]] c10::IValue copied(const c10::IValue& value);

}  // namespace ddprun::worker
