// The snapshots of one job, seen by all its ranks: rank 0 writes them and decides which one is
// loaded, so that no two ranks ever go on from different ones.
#pragma once

#include "worker/context.hpp"
#include "worker/process_group.hpp"
#include "worker/snapshot.hpp"
#include "worker/snapshot_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace ddprun::worker {

struct SnapshotStoreOptions {
  int keep_count = 3;  ///< Snapshots that stay when a newer one is written. At least 1.
  /// Gets a line about each file that could not be used. Default: stderr.
  std::function<void(const std::string& line)> warn;
};

class SnapshotStore {
 public:
  /// The store of the job whose newest snapshot is at `path`, which is DDPRUN_SNAPSHOT of `context`
  /// or else snapshot.pt in the working folder. Every rank needs to see the same folder. On rank 0,
  /// looks through it and removes what killed writers left. Throws Error.
  SnapshotStore(const Context& context,
                const ProcessGroup& group,
                SnapshotStoreOptions options = {});

  /// The newest complete snapshot, the same on every rank, or nothing when there is none yet; the
  /// link then leads to it. Collective, once. Throws Error on every rank when there are files but
  /// all of them are damaged: starting anew would silently throw the training away.
  [[nodiscard]] std::optional<Snapshot> load();

  /// Writes `snapshot` and makes it the newest; it is on the disk when this returns. Rank 0 only:
  /// does nothing on others. Sets its generation, to one later than all that were there when this
  /// store was made, and its world size. Throws Error; older snapshots are still there then.
  void save(Snapshot snapshot);

  [[nodiscard]] const std::filesystem::path& path() const { return folder_.link(); }

 private:
  [[nodiscard]] std::string choose(std::optional<Snapshot>& chosen);

  SnapshotFolder folder_;
  ProcessGroup group_;
  SnapshotStoreOptions options_;
  SnapshotFolder::Listing found_;  // rank 0 only
  std::int64_t generation_;
};

}  // namespace ddprun::worker
