// How the data of one snapshot is dealt out to shards, the files that ranks write side by side. All
// storages, in the order of the pickle's keys, are one stream of bytes, in which each begins at a
// multiple of shard_unit_bytes. Shard I of N is the Ith of N ranges of it that are equally long, up
// to one unit. A large tensor may so lie in several shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ddprun::worker {

/// Of all places in a stream. No element of a tensor is larger, so none is cut.
inline constexpr std::int64_t shard_unit_bytes = 64;

struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// What a range of the stream has of one storage.
struct StoragePart {
  std::size_t storage = 0;    ///< Its index in the list of storages.
  std::int64_t offset = 0;    ///< Of the first byte, in the storage.
  std::int64_t position = 0;  ///< Of the first byte, in the range.
  std::int64_t bytes = 0;
  friend bool operator==(const StoragePart&, const StoragePart&) = default;
};

/// The length of the stream of storages that have `storages_bytes` bytes each: a multiple of
/// shard_unit_bytes. Throws Error for a negative number, or a stream of more than 2^53 bytes.
[[nodiscard]] std::int64_t stream_bytes(const std::vector<std::int64_t>& storages_bytes);

/// The range of shard `shard`, 0 <= shard < shards_count, of a stream of that length.
[[nodiscard]] ByteRange shard_range(std::int64_t stream_bytes, int shard, int shards_count);

/// What `range` has of the storages, in the order of the stream. What lies between is padding.
[[nodiscard]] std::vector<StoragePart> parts_in(const ByteRange& range,
                                                const std::vector<std::int64_t>& storages_bytes);

}  // namespace ddprun::worker
