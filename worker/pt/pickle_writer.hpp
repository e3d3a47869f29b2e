// The pickles of state dicts that read_pickle() and torch.load() read.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace ddprun::worker {

struct Pickled {
  std::string pickle;
  std::vector<at::Tensor> tensors;  ///< One with each storage, in the order of the pickle's keys.
};

/// The pickle of `value`, in protocol 2. Reads no element of a tensor. Throws Error if two
/// tensors of different types share memory, which such a pickle cannot say.
[[nodiscard]] Pickled write_pickle(const c10::IValue& value);

}  // namespace ddprun::worker
