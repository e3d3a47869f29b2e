#include "worker/snapshots/shard_index.hpp"

#include "ddprun/error.hpp"
#include "worker/snapshots/shard_plan.hpp"

#include <ATen/ATen.h>

#include <cstring>
#include <limits>

namespace ddprun::worker {
namespace {

constexpr std::string_view shard_marker = ".shard-";
constexpr std::string_view count_marker = "-of-";

at::Tensor as_tensor(const std::vector<std::int64_t>& numbers) {
  return at::tensor(numbers, at::kLong);
}

at::Tensor entry_of(const c10::impl::GenericDict& dict, const char* key, at::ScalarType type) {
  const auto found = dict.find(key);
  if (found == dict.end() || !found->value().isTensor()) {
    throw Error(text("SHARDS has no tensor ", key));
  }
  const at::Tensor tensor = found->value().toTensor();
  if (tensor.dim() != 1 || tensor.scalar_type() != type || !tensor.is_contiguous()) {
    throw Error(text(key, " of SHARDS is no row of numbers of the type ", type));
  }
  return tensor;
}

std::vector<std::int64_t> numbers_of(const c10::impl::GenericDict& dict, const char* key) {
  const at::Tensor tensor = entry_of(dict, key, at::kLong);
  if (tensor.numel() == 0) return {};
  const auto* first = static_cast<const std::int64_t*>(tensor.data_ptr());
  return {first, first + tensor.numel()};
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

c10::IValue to_value(const ShardIndex& index) {
  const auto pickle_bytes = static_cast<std::int64_t>(index.pickle.size());
  at::Tensor pickle = at::empty({pickle_bytes}, at::kByte);
  std::memcpy(pickle.data_ptr(), index.pickle.data(), index.pickle.size());
  std::vector<std::int64_t> bytes;
  std::vector<std::int64_t> sums;
  for (const ShardSum& shard : index.shards) {
    bytes.push_back(shard.bytes);
    sums.push_back(shard.crc);
  }
  c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
  dict.insert("PICKLE", pickle);
  dict.insert("STORAGES", as_tensor(index.storages_bytes));
  dict.insert("BYTES", as_tensor(bytes));
  dict.insert("CRC32", as_tensor(sums));
  return dict;
}

ShardIndex shard_index_from(const c10::IValue& value) {
  if (!value.isGenericDict()) throw Error("SHARDS is not a dict");
  const auto dict = value.toGenericDict();
  const at::Tensor pickle = entry_of(dict, "PICKLE", at::kByte);
  ShardIndex index;
  index.pickle.assign(static_cast<const char*>(pickle.data_ptr()), pickle.nbytes());
  index.storages_bytes = numbers_of(dict, "STORAGES");
  const std::vector<std::int64_t> bytes = numbers_of(dict, "BYTES");
  const std::vector<std::int64_t> sums = numbers_of(dict, "CRC32");
  if (bytes.empty() || bytes.size() != sums.size()) {
    throw Error(text("SHARDS has ", bytes.size(), " BYTES and ", sums.size(), " CRC32"));
  }
  const std::int64_t expected = stream_bytes(index.storages_bytes);
  std::int64_t left = expected;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool is_crc = sums[i] >= 0 && sums[i] <= std::numeric_limits<std::uint32_t>::max();
    if (!is_crc) throw Error(text("CRC32 of SHARDS has ", sums[i], ", which is no checksum"));
    if (bytes[i] < 0 || bytes[i] > left || bytes[i] % shard_unit_bytes != 0) {
      throw Error(text("BYTES of SHARDS has ", bytes[i], " where ", left, " bytes are left"));
    }
    left -= bytes[i];
    index.shards.push_back({bytes[i], static_cast<std::uint32_t>(sums[i])});
  }
  if (left != 0) throw Error(text("SHARDS has ", expected - left, " bytes of ", expected));
  return index;
}

std::string shard_name(const std::string& snapshot, std::size_t shard, std::size_t shards_count) {
  return text(snapshot, shard_marker, shard, count_marker, shards_count);
}

std::optional<std::string_view> snapshot_of_shard(std::string_view name) {
  const std::size_t begin = name.rfind(shard_marker);
  if (begin == std::string_view::npos || begin == 0) return std::nullopt;
  const std::string_view numbers = name.substr(begin + shard_marker.size());
  const std::size_t of = numbers.find(count_marker);
  if (of == std::string_view::npos || !is_number(numbers.substr(0, of)) ||
      !is_number(numbers.substr(of + count_marker.size()))) {
    return std::nullopt;
  }
  return name.substr(0, begin);
}

std::string shard_header(const SnapshotNumbers& snapshot,
                         std::size_t shard,
                         std::size_t shards_count) {
  std::string header = text("ddprun shard ",
                            shard,
                            " of ",
                            shards_count,
                            ", generation ",
                            snapshot.generation,
                            ", step ",
                            snapshot.step);
  header.resize(shard_header_bytes, ' ');
  header.back() = '\n';
  return header;
}

}  // namespace ddprun::worker
