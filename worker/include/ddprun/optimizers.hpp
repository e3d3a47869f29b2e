// LibTorch's optimizers with the numbers of Python's. LibTorch's own order their operators in
// another way, so that after some steps the losses differ from Python's in the fourth digit. On a
// CPU these Adams also take less than half of the time.
#pragma once

#include <torch/torch.h>

namespace ddprun::worker {

/// step() of all four is equal bit by bit to that of the Python class of the same name and of the
/// same version of PyTorch, with one thread on a CPU. Options, states and snapshots are those of
/// the LibTorch class. The result is the closure's loss, or an undefined tensor without a closure.
///
/// Parameters without a gradient are left as they are. A parameter that a group names twice is
/// changed once. Parameters may differ in type and device. Throws Error, before any parameter of
/// the group has changed, if a gradient is sparse or a parameter is complex. Call it on one thread
/// at a time; on a CPU it uses torch::get_num_threads() threads, whose number changes no bit.
class SGD : public torch::optim::SGD {
 public:
  using torch::optim::SGD::SGD;
  torch::Tensor step(LossClosure closure = nullptr) override;
};

class Adam : public torch::optim::Adam {
 public:
  using torch::optim::Adam::Adam;
  torch::Tensor step(LossClosure closure = nullptr) override;
};

class AdamW : public torch::optim::AdamW {
 public:
  using torch::optim::AdamW::AdamW;
  torch::Tensor step(LossClosure closure = nullptr) override;
};

class RMSprop : public torch::optim::RMSprop {
 public:
  using torch::optim::RMSprop::RMSprop;
  torch::Tensor step(LossClosure closure = nullptr) override;
};

}  // namespace ddprun::worker
