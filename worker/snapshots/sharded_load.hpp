// Loading a sharded snapshot: each rank reads some of the shards, so that each byte is read once in
// the job, and sends them to the others.
#pragma once

#include "ddprun/process_group.hpp"
#include "ddprun/snapshot.hpp"
#include "ddprun/snapshot_store.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace ddprun::worker {

/// Throws Error unless the shards of `snapshot`, which was in `file` and has Snapshot::shards, are
/// there, each with the right length. So load_shards() takes no more memory than the files have.
void require_shards(const Snapshot& snapshot, const std::filesystem::path& file);

/// Collective. Puts what is in the shards of `snapshot`, which is the same on all ranks, into its
/// states, and Snapshot::shards becomes None. The result is empty, or has what was wrong, the same
/// on all ranks; the states are not to be used then. With SnapshotParts::all_but_model only rank 0
/// gets the parameters' values.
[[nodiscard]] std::vector<std::string> load_shards(Snapshot& snapshot,
                                                   const std::filesystem::path& file,
                                                   SnapshotParts parts,
                                                   const ProcessGroup& group);

}  // namespace ddprun::worker
