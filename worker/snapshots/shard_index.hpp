// What the file of a sharded snapshot says of its shards. It has the position, the buffers and the
// program's fields in it. The rest is the dict SHARDS:
//   PICKLE    (P,) uint8: a dict of MODEL_STATE, which has the parameters, and OPTIMIZER_STATE, as
//             the pickle in the file of a snapshot in one piece
//   STORAGES  (S,) int64: how many bytes each storage of that pickle has, by its key
//   BYTES     (N,) int64: how many bytes of the stream each shard has; see shard_plan.hpp
//   CRC32     (N,) int64: zlib's checksum of those bytes
// A shard is a file beside it, "snapshot.pt.GENERATION.STEP.shard-I-of-N" with I from 0 on: a
// header of shard_header_bytes, and its bytes of the stream.
#pragma once

#include "rendezvous/snapshot_name.hpp"

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::worker {

struct ShardSum {
  std::int64_t bytes = 0;  ///< Without the header.
  std::uint32_t crc = 0;
  friend bool operator==(const ShardSum&, const ShardSum&) = default;
};

struct ShardIndex {
  std::string pickle;
  std::vector<std::int64_t> storages_bytes;
  std::vector<ShardSum> shards;  ///< At least one. Together they are the stream.
};

[[nodiscard]] c10::IValue to_value(const ShardIndex& index);

/// The index that `value` holds. Throws Error naming the entry that is missing or does not fit.
[[nodiscard]] ShardIndex shard_index_from(const c10::IValue& value);

/// The name of a shard of the snapshot in the file `snapshot`, both within the folder.
[[nodiscard]] std::string shard_name(const std::string& snapshot,
                                     std::size_t shard,
                                     std::size_t shards_count);

/// The name of the snapshot whose shard `name` is; nothing for any other name.
[[nodiscard]] std::optional<std::string_view> snapshot_of_shard(std::string_view name);

inline constexpr std::size_t shard_header_bytes = 128;

/// The first bytes of a shard. They say in ASCII which one it is.
[[nodiscard]] std::string shard_header(const SnapshotNumbers& snapshot,
                                       std::size_t shard,
                                       std::size_t shards_count);

}  // namespace ddprun::worker
