// Reads the pickles that torch.save() and LibTorch write for state dicts: a small stack machine
// that knows tensors, dicts, lists, tuples, strings and numbers, and refuses every other class by
// name. Nothing in a file can make it run code, which is what Python's own pickle would do.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace ddprun::worker {

/// Bounds on the values of one pickle, far above any state dict: about 80,000 tensors fit.
struct PickleLimits {
  std::size_t pickle_bytes = 32 << 20;
  std::size_t values_count = 2 << 20;      ///< Values put on the stack.
  std::size_t containers_count = 1 << 20;  ///< Dicts, lists and tuples among them.
  std::size_t nodes_count = 16 << 20;  ///< Values in the result when shared ones are counted again.
  int depth = 64;                      ///< Containers within containers.
  /// Dicts with an integer key outside of +-1000, and how large such a key may be. A hash table
  /// doubles until keys that were chosen to collide no longer do, which takes longer the larger
  /// the keys are. Optimizers have indices of parameters as keys, in one dict.
  std::size_t wide_dicts_count = 64;
  std::int64_t key_max = 1 << 20;
};

/// The bytes of the storage that the pickle calls `key`; `bytes` is how many the pickle expects.
using StorageSource = std::function<c10::Storage(const std::string& key, std::size_t bytes)>;

/// The value that `pickle` (protocol 2) describes: None, bool, int, double, string, Tensor, Tuple,
/// GenericList or GenericDict with keys that are strings or ints. Tensors are on the CPU, without
/// requires_grad, and share storages as they did when written. Throws Error naming the class, the
/// operation or the limit, with its byte offset; what `storage_of` throws passes through.
[[nodiscard]] c10::IValue read_pickle(std::string_view pickle,
                                      const StorageSource& storage_of,
                                      const PickleLimits& limits = {});

}  // namespace ddprun::worker
