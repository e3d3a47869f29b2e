// The state of an optimizer in the layout of Python's optimizer.state_dict(), so that either side
// can resume from the other's. Supports SGD, Adam, AdamW, RMSprop, Adagrad and LBFGS: all that
// LibTorch has.
#pragma once

#include <torch/torch.h>

namespace ddprun::worker {

/// {"state": {0: {"momentum_buffer": ...}, ...}, "param_groups": [{"lr": ..., "params": [0,
/// ...]}]}, with parameters numbered over all groups. Tensors share their storage with the
/// optimizer. Throws Error for an optimizer of another kind.
[[nodiscard]] c10::IValue optimizer_state(const torch::optim::Optimizer& optimizer);

/// Gives `optimizer` the state and, as Python does, the options (learning rate, ...) in `state`.
/// Options that LibTorch's C++ optimizers lack ("foreach", "initial_lr", ...) are dropped.
/// Throws Error naming the entry that does not fit; the optimizer is unchanged then.
void load_optimizer_state(torch::optim::Optimizer& optimizer, const c10::IValue& state);

/// The same without a second copy in memory: the optimizer takes the tensors of `state` that are of
/// the type and on the device of their parameters, and that nothing else has. So do not use `state`
/// afterwards.
void adopt_optimizer_state(torch::optim::Optimizer& optimizer, c10::IValue state);

}  // namespace ddprun::worker
