// The snapshots of one job, seen by all its ranks: rank 0 writes them and decides which one is
// loaded, so that all ranks resume from the same one. Of sharded snapshots each rank writes and
// reads a part; see SessionOptions::sharded_snapshots.
#pragma once

#include "ddprun/context.hpp"
#include "ddprun/control.hpp"
#include "ddprun/error.hpp"
#include "ddprun/process_group.hpp"
#include "ddprun/snapshot.hpp"
#include "ddprun/snapshot_folder.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ddprun::worker {

struct SnapshotStoreOptions {
  int keep_count = 3;  ///< Snapshots that stay when a newer one is written. At least 1.
  /// Gets a line, on rank 0, about anything that a user should know: files that could not be used
  /// or written, a position from a job of another size. Default: stderr.
  std::function<void(const std::string& line)> warn;
  Control* control = nullptr;  ///< Is told of each snapshot; outlives the store.
};

enum class SnapshotParts : std::uint8_t {
  all,
  all_but_model,  ///< Other ranks than 0 get the names and shapes of the model, and no values.
};

class SnapshotStore {
 public:
  /// The store of the job whose newest snapshot is at `path`, which is DDPRUN_SNAPSHOT of `context`
  /// or else snapshot.pt in the working folder; the same path on every rank. Only rank 0 reads and
  /// writes files there, and a restart may place rank 0 on any node. It lists them and removes
  /// unfinished ones of killed writers. Throws Error.
  SnapshotStore(const Context& context,
                const ProcessGroup& group,
                SnapshotStoreOptions options = {});

  /// The newest complete snapshot, the same on every rank, or nothing when there is none yet; the
  /// link then leads to it. Collective, once. Rank 0 reads the file and sends `parts` of it to the
  /// others over the process group, on the CPU. Throws Error on every rank when there are files but
  /// all of them are damaged: a new start would silently discard the training. A link that
  /// was set by hand to an older one is not followed, and rank 0 says so. A snapshot of a job with
  /// another number of ranks is loaded too, and rank 0 says so: its position in the epoch,
  /// Position::samples, does not depend on the number of ranks (see DistributedSampler). Of a
  /// sharded snapshot each rank reads some of the shards and sends them to the others.
  [[nodiscard]] std::optional<Snapshot> load(SnapshotParts parts = SnapshotParts::all);

  /// Writes `snapshot` and makes it the newest; true when it is on the disk now. Rank 0 only: does
  /// nothing on others. Sets its generation, to one later than all that existed when this store
  /// was made, and its world size.
  ///
  /// A file of another program at the link's target stays as it is, and one at the link's own path
  /// is renamed to `snapshot.pt.original.N`.
  ///
  /// A disk that is full or gone, or a file that cannot be read back, must not end a job that has
  /// an older snapshot: each failure is then a warning, and the result false. Throws
  /// FileError only while there is no snapshot at all, since a job that cannot save its first was
  /// set up wrongly and should not run for days. Throws Error when a tensor of the model holds a
  /// NaN: such a snapshot must not replace a good one, and training is lost anyway. Either error
  /// leaves older snapshots in place.
  bool save(Snapshot snapshot);

  /// See SnapshotStoreOptions.
  void warn(const std::string& line) const { options_.warn(line); }

  [[nodiscard]] const std::filesystem::path& path() const { return folder_.link(); }

 private:
  friend class ShardSaver;

  [[nodiscard]] std::string agree_on_file(std::optional<SnapshotFolder::Content>& content);
  [[nodiscard]] std::string next_readable(std::optional<SnapshotFolder::Content>& content);
  void accept(const std::string& name, const Snapshot& loaded);
  [[nodiscard]] bool link_to(const std::string& name) const;
  void tell_about_link(const std::string& loaded) const;
  void tell_about_size(const Snapshot& loaded) const;
  void tell_saving(std::int64_t step) const;
  bool save_told(Snapshot snapshot);
  void write(const Snapshot& snapshot);
  void refuse(std::int64_t step, const FileError& error) const;

  SnapshotFolder folder_;
  ProcessGroup group_;
  SnapshotStoreOptions options_;
  SnapshotFolder::Listing found_;  // rank 0 only, as the next two
  std::size_t tried_count_ = 0;    // of the files found, by load()
  std::vector<std::string> skipped_;
  int choices_count_ = 0;
  std::string newest_;       // the file that a restart would load; empty when there is none
  std::int64_t generation_;  // of this start; on other ranks than 0 once load() has returned
};

}  // namespace ddprun::worker
