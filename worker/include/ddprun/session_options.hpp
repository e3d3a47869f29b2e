// What a Session is told: how long, how often, and how a training goes.
#pragma once

#include "ddprun/distributed_sampler.hpp"
#include "ddprun/position.hpp"
#include "ddprun/schedule.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace ddprun::worker {

struct SessionOptions {
  std::int64_t epochs = 1;
  std::int64_t steps_max = 0;    ///< The training ends after this many, if not before. 0: none.
  std::int64_t batch_size = 32;  ///< Samples of each rank in a step.
  std::int64_t save_every = 0;   ///< Steps; 0: only at the end of epochs.
  std::int64_t save_every_epochs = 1;  ///< The end of the last one is always saved.
  /// Steps from one agreement of the ranks whether to stop or to save, because of SIGTERM or since
  /// ddprun asked for it, to the next; 0: only at the end of epochs. See StopRequest::agreed().
  std::int64_t ask_every = 1;
  std::uint64_t seed = 0;  ///< Of initial weights, and of what each step draws.
  DistributedSamplerOptions sampler;
  /// kHalf or kBFloat16: what autocast() computes in. With kHalf losses are scaled, as by PyTorch's
  /// GradScaler, and a step whose gradients overflow changes no parameter.
  std::optional<torch::ScalarType> precision;
  /// The channels of each pixel lie side by side in memory: in the model's parameters of four
  /// dimensions, and in a loader's batches of (N, C, H, W). Snapshots stay as they are.
  bool channels_last = false;
  /// Operators compute the same bits in each run, or throw. For the whole process, from here on. On
  /// a GPU the environment must have CUBLAS_WORKSPACE_CONFIG=:4096:8, or the constructor throws.
  bool deterministic = false;
  Schedule schedule;   ///< Of the learning rates that the optimizer was made with. None: they stay.
  int keep_count = 3;  ///< Snapshots that stay when a newer one is written.
  /// Snapshots are written while the training goes on, at most one at a time: on the CPU copies of
  /// the parameters and of the optimizer's state are made while the next step computes gradients,
  /// and Session::step() waits for them; those of a GPU are copied before. False: the training
  /// waits until each is on the disk.
  bool saves_beside = true;
  /// Each rank writes its part of a snapshot, a shard, and rank 0 also a small file that makes the
  /// shards one snapshot. For a state that takes one rank long to write, or has no room twice in
  /// its memory: a rank copies its shard alone, before the next step begins. All nodes must share
  /// the folder. Until all shards are on the disk, each step ends with a small sum over the ranks.
  bool sharded_snapshots = false;
  /// Called on rank 0's main thread after each snapshot, with the position to go on from and the
  /// file: when the first step ends after it is on the disk, or the last one.
  std::function<void(const Position& position, const std::string& path)> saved;
};

}  // namespace ddprun::worker
