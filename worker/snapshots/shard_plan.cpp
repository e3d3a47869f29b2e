#include "worker/snapshots/shard_plan.hpp"

#include "ddprun/error.hpp"

#include <algorithm>

namespace ddprun::worker {
namespace {

constexpr std::int64_t stream_bytes_max = std::int64_t{1} << 53;  // as all counts of a snapshot

std::int64_t padded(std::int64_t bytes) {
  return (bytes + shard_unit_bytes - 1) / shard_unit_bytes * shard_unit_bytes;
}

}  // namespace

std::int64_t stream_bytes(const std::vector<std::int64_t>& storages_bytes) {
  std::int64_t sum = 0;
  for (const std::int64_t bytes : storages_bytes) {
    if (bytes < 0 || bytes > stream_bytes_max || sum + padded(bytes) > stream_bytes_max) {
      throw Error(text("a tensor of ", bytes, " bytes, after others of ", sum));
    }
    sum += padded(bytes);
  }
  return sum;
}

ByteRange shard_range(std::int64_t stream_bytes, int shard, int shards_count) {
  const std::int64_t units = stream_bytes / shard_unit_bytes;
  const std::int64_t each = units / shards_count;
  const std::int64_t longer_count = units % shards_count;
  const auto begin_of = [&](std::int64_t index) {
    return (each * index + std::min(index, longer_count)) * shard_unit_bytes;
  };
  return {begin_of(shard), begin_of(shard + 1)};
}

std::vector<StoragePart> parts_in(const ByteRange& range,
                                  const std::vector<std::int64_t>& storages_bytes) {
  std::vector<StoragePart> parts;
  std::int64_t begin = 0;  // of the storage, in the stream
  for (std::size_t i = 0; i < storages_bytes.size() && begin < range.end; ++i) {
    const std::int64_t from = std::max(begin, range.begin);
    const std::int64_t to = std::min(begin + storages_bytes[i], range.end);
    if (from < to) parts.push_back({i, from - begin, from - range.begin, to - from});
    begin += padded(storages_bytes[i]);
  }
  return parts;
}

}  // namespace ddprun::worker
