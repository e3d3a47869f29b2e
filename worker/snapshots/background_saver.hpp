// Saves snapshots beside the training, one at a time, by a thread that first copies what the
// training will change, and then writes.
//
// Nothing but the optimizer's step changes parameters and its own state. So only that step has to
// wait for the copy, which is made while the next forward and backward pass are computed. Its
// memory is kept for the next save, since new pages cost the kernel several times the copy's time.
#pragma once

#include "ddprun/position.hpp"
#include "ddprun/snapshot_store.hpp"
#include "worker/snapshots/copied_tensors.hpp"

#include <atomic>
#include <cstdint>
#include <future>
#include <optional>

namespace ddprun::worker {

class BackgroundSaver {
 public:
  /// `store` outlives this, and is used by nobody else while a save is under way.
  explicit BackgroundSaver(SnapshotStore& store) : store_(store) {}
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;
  ~BackgroundSaver();

  /// What the training changes, and a snapshot shares with it.
  struct Shared {
    StateDict parameters;
    c10::IValue optimizer_state;
  };

  /// Begins to save `snapshot`, whose tensors nobody else changes. No save may be under way.
  void begin(Snapshot snapshot);
  /// The same with `shared` in it.
  void begin(Snapshot snapshot, Shared shared);

  /// Call it before you change what is shared. If LibTorch's version counters show a change before
  /// that, the save ends without a snapshot, a warning says so, and has_torn() is true from then
  /// on. Writes through data() or data_ptr() do not show.
  void wait_for_copy();
  [[nodiscard]] bool has_torn() const { return has_torn_; }

  /// Waits until no save is under way. What came of it, or went wrong, is still wait()'s to tell.
  void settle() const;
  /// Waits for the save that is under way. The position of its snapshot, if that is on the disk
  /// now. Throws what SnapshotStore::save() does.
  std::optional<Position> wait();
  /// The same, but does not wait: nothing while it is under way.
  [[nodiscard]] std::optional<Position> poll();

 private:
  [[nodiscard]] bool complete(Snapshot& snapshot, Shared shared, std::int64_t changes);

  SnapshotStore& store_;
  Position position_;
  std::atomic<bool> has_torn_ = false;
  KeptCopies copies_;  // the thread's, while a save is under way
  std::future<void> copy_;
  std::future<bool> save_;  // the last member: its thread uses the others
};

}  // namespace ddprun::worker
