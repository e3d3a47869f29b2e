// Saves sharded snapshots beside the training: each rank writes its shard by a thread of its own,
// and once all have, rank 0 writes the snapshot's file, without which shards are nothing.
//
// States of each rank
//   idle        No save is under way.
//   writing     Since begin(). Its thread writes the shard, or has.
//   committing  Rank 0 alone: all ranks have told that their shards are on the disk, and its thread
//               writes the snapshot's file.
// Invariants
//   1  All ranks go from idle to writing, and from there on, in the same call. What a call does
//      depends on nothing but what all ranks have told each other.
//   2  The snapshot's file is written after all shards are on the disk, and rank 0 has seen them.
//   3  Older snapshots are removed after that. If a save fails, its shards are.
// Bounds
//   A rank has memory for its shard, which is kept for the next one.
#pragma once

#include "ddprun/process_group.hpp"
#include "ddprun/snapshot.hpp"
#include "ddprun/snapshot_store.hpp"
#include "worker/snapshots/shard_index.hpp"
#include "worker/snapshots/shard_report.hpp"
#include "worker/snapshots/sharded_state.hpp"

#include <torch/torch.h>

#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

namespace ddprun::worker {

class ShardSaver {
 public:
  /// `store`, which has loaded, outlives this.
  ShardSaver(SnapshotStore& store, const ProcessGroup& group);
  ShardSaver(const ShardSaver&) = delete;
  ShardSaver& operator=(const ShardSaver&) = delete;
  ~ShardSaver();

  /// Collective, when idle. Begins to save `common` of rank 0 with `parameters` and
  /// `optimizer_state`, which are the same on all ranks. Before this returns it copies this rank's
  /// shard of those. Nobody else changes the tensors of `common`.
  void begin(Snapshot common, const StateDict& parameters, const c10::IValue& optimizer_state);

  /// Collective: waits until idle. On rank 0 the position of the snapshot, if one was under way and
  /// is on the disk now. Throws what SnapshotStore::save() does, on all ranks if there is no older
  /// snapshot, or if a parameter holds a NaN.
  std::optional<Position> wait();
  /// The same, but does not wait for files: nothing while they are being written.
  [[nodiscard]] std::optional<Position> poll();

  /// Waits for this rank's own files.
  void settle() const;

 private:
  [[nodiscard]] std::filesystem::path snapshot_path() const;
  [[nodiscard]] std::filesystem::path shard_path(int rank) const;
  [[nodiscard]] std::string header(int rank) const;
  [[nodiscard]] ShardReport write(const ShardedState& state) const;
  void finish_writing();
  void agree_on_first();
  bool commit(const std::vector<ShardReport>& reports);
  void require_visible(const std::vector<ShardReport>& reports) const;
  std::optional<Position> take_committed();

  SnapshotStore& store_;
  ProcessGroup group_;
  Snapshot common_;  // of the save that is under way
  torch::Tensor copy_;
  ShardIndex index_;                   // without the shards' sums
  std::future<ShardReport> shard_;     // valid: writing
  std::shared_future<bool> snapshot_;  // valid: committing
};

}  // namespace ddprun::worker
