// The snapshot that rank 0 has read, on all ranks: the pickle of its file, from which each rank
// makes the same value, and then the data of its tensors, from memory to memory.
#pragma once

#include "ddprun/process_group.hpp"
#include "ddprun/snapshot_folder.hpp"
#include "ddprun/snapshot_store.hpp"

namespace ddprun::worker {

/// Collective: rank 0 sends `content`, and the others receive it.
void send_snapshot(const SnapshotFolder::Content& content,
                   SnapshotParts parts,
                   const ProcessGroup& group);
[[nodiscard]] Snapshot receive_snapshot(SnapshotParts parts, const ProcessGroup& group);

}  // namespace ddprun::worker
