#include "worker/snapshots/shared_snapshot.hpp"

#include "worker/parallel/broadcast.hpp"
#include "worker/pt/pickle_reader.hpp"
#include "worker/pt/storage_view.hpp"
#include "worker/snapshots/copied_tensors.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace ddprun::worker {
namespace {

/// The bytes of each storage of `parts`, once, in an order that depends on the pickle alone.
std::vector<torch::Tensor> data_of(const Snapshot& snapshot, SnapshotParts parts) {
  std::vector<torch::Tensor> data;
  std::unordered_set<const c10::StorageImpl*> seen;
  const auto add = [&](const torch::Tensor& tensor) {
    const c10::Storage& storage = tensor.storage();
    if (seen.insert(storage.unsafeGetStorageImpl()).second && storage.nbytes() > 0) {
      const auto bytes = static_cast<std::int64_t>(storage.nbytes());
      data.push_back(view_of(storage, torch::kByte, 0, {bytes}, {1}));
    }
    return tensor;
  };
  if (parts == SnapshotParts::all) {
    for (const auto& named : snapshot.model_state) add(named.value());
  }
  static_cast<void>(with_tensors(snapshot.optimizer_state, add));
  static_cast<void>(with_tensors(snapshot.scaler_state, add));
  static_cast<void>(with_tensors(snapshot.shards, add));
  for (const auto* fields : {&snapshot.user_fields, &snapshot.own_fields}) {
    for (const auto& field : *fields) static_cast<void>(with_tensors(field.second, add));
  }
  return data;
}

}  // namespace

void send_snapshot(const SnapshotFolder::Content& content,
                   SnapshotParts parts,
                   const ProcessGroup& group) {
  if (group.size() == 1) return;
  static_cast<void>(broadcast_text(content.pickle, group, 0));
  broadcast_from(0, data_of(content.snapshot, parts), group);
}

Snapshot receive_snapshot(SnapshotParts parts, const ProcessGroup& group) {
  // Memory that nothing is written to takes no page. LibTorch 2.2 and later fills what
  // torch::empty() makes, if a session is deterministic.
  const auto room_for = [](const std::string&, std::size_t bytes) {
    return c10::Storage(c10::Storage::use_byte_size_t(),
                        static_cast<std::int64_t>(bytes),
                        at::getCPUAllocator(),
                        /*resizable=*/false);
  };
  Snapshot snapshot = from_value(read_pickle(broadcast_text("", group, 0), room_for));
  broadcast_from(0, data_of(snapshot, parts), group);
  return snapshot;
}

}  // namespace ddprun::worker
