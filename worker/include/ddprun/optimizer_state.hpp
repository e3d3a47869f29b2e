// The state of an optimizer in the layout of Python's optimizer.state_dict(), so that either side
// can go on with what the other saved. Knows SGD, Adam and AdamW.
#pragma once

#include <torch/torch.h>

namespace ddprun::worker {

/// {"state": {0: {"momentum_buffer": ...}, ...}, "param_groups": [{"lr": ..., "params": [0,
/// ...]}]}, with parameters numbered over all groups. Tensors share their storage with the
/// optimizer. Throws Error for an optimizer of another kind.
[[nodiscard]] c10::IValue optimizer_state(const torch::optim::Optimizer& optimizer);

/// Gives `optimizer` the state and, as Python does, the options (learning rate, ...) in `state`.
/// What LibTorch's C++ optimizers do not have ("foreach", "initial_lr", ...) is not kept.
/// Throws Error saying what does not fit; the optimizer is unchanged then.
void load_optimizer_state(torch::optim::Optimizer& optimizer, const c10::IValue& state);

}  // namespace ddprun::worker
