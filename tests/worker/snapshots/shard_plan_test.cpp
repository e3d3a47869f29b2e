#include "worker/snapshots/shard_plan.hpp"

#include "ddprun/error.hpp"

#include <doctest/doctest.h>

#include <map>

namespace ddprun::worker {
namespace {

using Sizes = std::vector<std::int64_t>;

const std::vector<Sizes>& lists_of_sizes() {
  static const std::vector<Sizes> lists{
      {}, {0}, {1}, {64}, {65}, {0, 0, 1}, {1, 64, 63, 0, 65, 1000}, {4, 4, 4, 4, 4}, {5000, 3}};
  return lists;
}

TEST_CASE("shard plan: the shards are the whole stream, and equally long up to one unit") {
  for (const Sizes& sizes : lists_of_sizes()) {
    const std::int64_t bytes = stream_bytes(sizes);
    CHECK(bytes % shard_unit_bytes == 0);
    for (int count = 1; count <= 9; ++count) {
      std::int64_t end = 0;
      for (int shard = 0; shard < count; ++shard) {
        const ByteRange range = shard_range(bytes, shard, count);
        CHECK(range.begin == end);
        CHECK(range.begin % shard_unit_bytes == 0);
        CHECK(range.size() - bytes / count <= shard_unit_bytes);
        CHECK(bytes / count - range.size() <= shard_unit_bytes);
        end = range.end;
      }
      CHECK(end == bytes);
    }
  }
  CHECK(shard_range(stream_bytes({std::int64_t{1} << 53}), 2'000'000'000, 2'000'000'001).end ==
        std::int64_t{1} << 53);
}

TEST_CASE("shard plan: each byte of each storage is in one shard, and storages do not overlap") {
  for (const Sizes& sizes : lists_of_sizes()) {
    for (int count = 1; count <= 9; ++count) {
      std::map<std::size_t, std::int64_t> seen;  // bytes of each storage
      std::int64_t end = 0;                      // in the stream
      for (int shard = 0; shard < count; ++shard) {
        const ByteRange range = shard_range(stream_bytes(sizes), shard, count);
        for (const StoragePart& part : parts_in(range, sizes)) {
          CHECK(part.bytes > 0);
          CHECK(part.offset == seen[part.storage]);
          CHECK(part.position % shard_unit_bytes == 0);
          CHECK(part.position + part.bytes <= range.size());
          CHECK(range.begin + part.position >= end);
          end = range.begin + part.position + part.bytes;
          seen[part.storage] += part.bytes;
        }
      }
      for (std::size_t i = 0; i < sizes.size(); ++i) CHECK(seen[i] == sizes[i]);
    }
  }
}

TEST_CASE("shard plan: sizes that are no sizes, or overflow together, are refused") {
  constexpr std::int64_t large = std::int64_t{1} << 52;
  for (const Sizes& sizes : {Sizes{-1}, {large, large, 1}, {INT64_MAX}, {large, INT64_MAX}}) {
    CHECK_THROWS_AS(static_cast<void>(stream_bytes(sizes)), Error);
  }
}

}  // namespace
}  // namespace ddprun::worker
