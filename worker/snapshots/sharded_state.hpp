// The part of a training's state that shards hold, since it is large and the same on all ranks: the
// parameters and the optimizer's state. Buffers are not, since each rank has its own.
#pragma once

#include "ddprun/module_state.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ddprun::worker {

/// From the first of a parameter's elements to the last, in bytes of its storage.
struct ParameterSpan {
  std::string name;
  std::int64_t begin;
  std::int64_t end;
};

struct ShardedState {
  std::string pickle;  ///< PICKLE of a ShardIndex.
  std::vector<std::int64_t> storages_bytes;
  std::vector<torch::Tensor> tensors;  ///< One that has each storage, shared with the training.
  std::vector<std::vector<ParameterSpan>> parameters;  ///< Those in each storage.
};

/// Copies no element.
[[nodiscard]] ShardedState sharded_state(const StateDict& parameters,
                                         const c10::IValue& optimizer_state);

/// What shard `shard` of `shards_count` has of `state`, on the CPU. `kept` is an earlier result,
/// which nobody uses any more, or undefined: its memory is taken if the size fits.
[[nodiscard]] torch::Tensor copy_shard(const ShardedState& state,
                                       int shard,
                                       int shards_count,
                                       torch::Tensor kept);

/// The parameters in such a copy, as rows of their elements and of what lies between them; each
/// shares its memory.
[[nodiscard]] StateDict parameters_in(const torch::Tensor& copy,
                                      const ShardedState& state,
                                      int shard,
                                      int shards_count);

}  // namespace ddprun::worker
