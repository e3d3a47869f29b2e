#include "worker/snapshots/sharded_load.hpp"

#include "ddprun/collectives.hpp"
#include "ddprun/error.hpp"
#include "worker/parallel/broadcast.hpp"
#include "worker/pt/pickle_reader.hpp"
#include "worker/pt/storage_view.hpp"
#include "worker/snapshots/shard_file.hpp"
#include "worker/snapshots/shard_index.hpp"
#include "worker/snapshots/shard_plan.hpp"
#include "worker/telemetry/host_name.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <unordered_set>
#include <utility>

namespace ddprun::worker {
namespace {

ExpectedShard expected_shard(const Snapshot& snapshot,
                             const std::filesystem::path& file,
                             const ShardIndex& index,
                             std::size_t shard) {
  return {shard_name(file.string(), shard, index.shards.size()),
          shard_header({snapshot.generation, snapshot.position.step}, shard, index.shards.size()),
          index.shards[shard]};
}

/// The states that a pickle describes, with memory for their tensors.
struct Rooms {
  StateDict model_state;  // the buffers too, which are there already
  c10::IValue optimizer_state;
  std::vector<torch::Tensor> storages;  // all bytes of each, by its key
};

Rooms make_rooms(const ShardIndex& index, const StateDict& buffers) {
  Rooms rooms;
  const auto room_for = [&](const std::string& key, std::size_t bytes) {
    const std::size_t next = rooms.storages.size();
    const bool is_next = next < index.storages_bytes.size() && key == std::to_string(next) &&
                         static_cast<std::int64_t>(bytes) == index.storages_bytes[next];
    if (!is_next) throw Error(text("PICKLE of SHARDS has a tensor that STORAGES has not: ", key));
    const c10::Storage storage(c10::Storage::use_byte_size_t(),
                               index.storages_bytes[next],
                               at::getCPUAllocator(),
                               /*resizable=*/false);
    rooms.storages.push_back(view_of(storage, torch::kByte, 0, {index.storages_bytes[next]}, {1}));
    return storage;
  };
  const c10::IValue value = read_pickle(index.pickle, room_for);
  if (rooms.storages.size() != index.storages_bytes.size()) {
    throw Error("STORAGES of SHARDS has more entries than PICKLE has tensors");
  }
  if (!value.isGenericDict()) throw Error("PICKLE of SHARDS is not a dict");
  const auto root = value.toGenericDict();
  if (!root.contains("MODEL_STATE") || !root.contains("OPTIMIZER_STATE")) {
    throw Error("PICKLE of SHARDS has no MODEL_STATE or no OPTIMIZER_STATE");
  }
  rooms.model_state = to_state_dict(root.at("MODEL_STATE"), "MODEL_STATE of SHARDS");
  for (const auto& buffer : buffers) {
    if (rooms.model_state.contains(buffer.key())) {
      throw Error(text(buffer.key(), " is in MODEL_STATE and in SHARDS"));
    }
    rooms.model_state.insert(buffer.key(), buffer.value());
  }
  rooms.optimizer_state = root.at("OPTIMIZER_STATE");
  return rooms;
}

/// Where the bytes of each shard go.
std::vector<std::vector<ShardTarget>> targets_of(const ShardIndex& index, const Rooms& rooms) {
  std::vector<std::vector<ShardTarget>> targets;
  ByteRange range;
  for (const ShardSum& shard : index.shards) {
    range = {range.end, range.end + shard.bytes};
    targets.emplace_back();
    for (const StoragePart& part : parts_in(range, index.storages_bytes)) {
      targets.back().push_back(
          {part.position, rooms.storages[part.storage].narrow(0, part.offset, part.bytes)});
    }
  }
  return targets;
}

/// What went wrong on any rank, each text once.
std::vector<std::string> gather_failures(const std::string& failure, const ProcessGroup& group) {
  std::vector<std::string> failures;
  for (std::string& each : gather_texts(failure, group)) {
    const bool is_new = std::find(failures.begin(), failures.end(), each) == failures.end();
    if (!each.empty() && is_new) failures.push_back(std::move(each));
  }
  return failures;
}

/// Sends what each rank has read to the others, or to rank 0 alone.
class ShardExchange {
 public:
  ShardExchange(const Rooms& rooms, SnapshotParts parts, const ProcessGroup& group)
      : group_(group) {
    if (parts == SnapshotParts::all) return;
    for (const auto& named : rooms.model_state) {
      for_rank_0_.insert(named.value().storage().unsafeGetStorageImpl());
    }
  }

  void send(const std::vector<ShardTarget>& targets, int reader) {
    std::vector<torch::Tensor> for_all;
    for (const ShardTarget& target : targets) {
      if (for_rank_0_.count(target.bytes.storage().unsafeGetStorageImpl()) == 0) {
        for_all.push_back(target.bytes);
      } else if (reader != 0) {
        send_to_rank_0(target.bytes, reader);
      }
    }
    broadcast_from(reader, for_all, group_);
  }

 private:
  void send_to_rank_0(const torch::Tensor& bytes, int reader) {
    constexpr std::int64_t piece_bytes = 16 << 20;
    for (const torch::Tensor& piece : bytes.split(piece_bytes)) {
      std::vector<torch::Tensor> tensors{piece};
      if (group_.rank() == reader) group_.native()->send(tensors, 0, 0)->wait();
      if (group_.rank() == 0) group_.native()->recv(tensors, reader, 0)->wait();
    }
  }

  ProcessGroup group_;
  std::unordered_set<const c10::StorageImpl*> for_rank_0_;
};

}  // namespace

void require_shards(const Snapshot& snapshot, const std::filesystem::path& file) {
  const ShardIndex index = shard_index_from(snapshot.shards);
  for (std::size_t i = 0; i < index.shards.size(); ++i) {
    require_shard(expected_shard(snapshot, file, index, i));
  }
}

std::vector<std::string> load_shards(Snapshot& snapshot,
                                     const std::filesystem::path& file,
                                     SnapshotParts parts,
                                     const ProcessGroup& group) {
  const auto reader_of = [&](std::size_t shard) {
    return static_cast<int>(shard % static_cast<std::size_t>(group.size()));
  };
  Rooms rooms;
  std::vector<std::vector<ShardTarget>> targets;
  std::string failure;
  try {
    const ShardIndex index = shard_index_from(snapshot.shards);
    rooms = make_rooms(index, snapshot.model_state);
    targets = targets_of(index, rooms);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (reader_of(i) != group.rank()) continue;
      try {
        read_shard(expected_shard(snapshot, file, index, i), targets[i]);
      } catch (const Error& error) {
        throw Error(text(error.what(), " (rank ", group.rank(), " on ", host_name(), ")"));
      }
    }
  } catch (const std::exception& error) {
    failure = error.what();
  }
  std::vector<std::string> failures = gather_failures(failure, group);
  if (!failures.empty()) return failures;
  ShardExchange exchange(rooms, parts, group);
  for (std::size_t i = 0; i < targets.size(); ++i) exchange.send(targets[i], reader_of(i));
  snapshot.model_state = std::move(rooms.model_state);
  snapshot.optimizer_state = std::move(rooms.optimizer_state);
  snapshot.shards = {};
  return {};
}

}  // namespace ddprun::worker
