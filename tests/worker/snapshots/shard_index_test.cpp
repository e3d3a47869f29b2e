#include "worker/snapshots/shard_index.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

namespace ddprun::worker {
namespace {

c10::impl::GenericDict small_index() {
  return to_value(ShardIndex{"pickle", {100, 0, 30}, {{128, 7}, {64, 0xffffffff}}}).toGenericDict();
}

TEST_CASE("shard index: what a file says is what was written") {
  const ShardIndex index = shard_index_from(small_index());
  CHECK(index.pickle == "pickle");
  CHECK(index.storages_bytes == std::vector<std::int64_t>{100, 0, 30});
  CHECK((index.shards == std::vector<ShardSum>{{128, 7}, {64, 0xffffffff}}));
}

TEST_CASE("shard index: an entry that is missing or does not fit is named") {
  using torch::tensor;
  const auto refused = [](const char* key, const c10::IValue& value) {
    auto dict = small_index();
    static_cast<void>(dict.erase(key));
    if (!value.isNone()) dict.insert(key, value);
    return test::error_of([&] { static_cast<void>(shard_index_from(dict)); });
  };
  for (const char* key : {"PICKLE", "STORAGES", "BYTES", "CRC32"}) {
    CHECK(refused(key, {}) == text("SHARDS has no tensor ", key));
    CHECK(refused(key, 3) == text("SHARDS has no tensor ", key));
    CHECK(test::contains(refused(key, tensor({1.0, 2.0})), key));
    CHECK(test::contains(refused(key, torch::zeros({1, 2}, torch::kLong)), key));
  }
  const auto row = [](std::vector<std::int64_t> numbers) { return torch::tensor(numbers); };
  CHECK(refused("BYTES", row({})) == "SHARDS has 0 BYTES and 2 CRC32");
  CHECK(refused("BYTES", row({192})) == "SHARDS has 1 BYTES and 2 CRC32");
  CHECK(refused("BYTES", row({128, 0})) == "SHARDS has 128 bytes of 192");
  CHECK(refused("BYTES", row({128, 128})) == "BYTES of SHARDS has 128 where 64 bytes are left");
  CHECK(refused("BYTES", row({-64, 256})) == "BYTES of SHARDS has -64 where 192 bytes are left");
  CHECK(refused("BYTES", row({127, 65})) == "BYTES of SHARDS has 127 where 192 bytes are left");
  CHECK(refused("CRC32", row({1, -1})) == "CRC32 of SHARDS has -1, which is no checksum");
  CHECK(refused("CRC32", row({std::int64_t{1} << 32, 1})) ==
        "CRC32 of SHARDS has 4294967296, which is no checksum");
  CHECK(refused("STORAGES", row({100, -1})) == "a tensor of -1 bytes, after others of 128");
  CHECK(test::error_of([] { static_cast<void>(shard_index_from(c10::IValue(1))); }) ==
        "SHARDS is not a dict");
}

TEST_CASE("shard index: a shard's name tells its snapshot, and no other name does") {
  CHECK(shard_name("snapshot.pt.3.120", 1, 16) == "snapshot.pt.3.120.shard-1-of-16");
  CHECK(snapshot_of_shard("snapshot.pt.3.120.shard-1-of-16") == "snapshot.pt.3.120");
  CHECK(snapshot_of_shard("a.shard-0-of-1.shard-0-of-1") == "a.shard-0-of-1");
  for (const char* name : {"",
                           ".shard-0-of-1",
                           "a",
                           "a.shard-",
                           "a.shard-1",
                           "a.shard-1-of-",
                           "a.shard--of-2",
                           "a.shard-1-of-2x",
                           "a.shard-x-of-2",
                           "a.shard-1-of-2.tmp.0123456789abcdef"}) {
    CAPTURE(name);
    CHECK_FALSE(snapshot_of_shard(name));
  }
}

TEST_CASE("shard index: a shard's header says which one it is, and has one length") {
  const std::string header = shard_header({3, 120}, 1, 16);
  CHECK(header.starts_with("ddprun shard 1 of 16, generation 3, step 120 "));
  CHECK(header.ends_with(" \n"));
  CHECK(header.size() == shard_header_bytes);
  CHECK(shard_header({1L << 53, 1L << 53}, 2'147'483'646, 2'147'483'647).ends_with(" \n"));
}

}  // namespace
}  // namespace ddprun::worker
