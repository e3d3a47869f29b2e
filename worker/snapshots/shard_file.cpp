#include "worker/snapshots/shard_file.hpp"

#include "ddprun/error.hpp"
#include "worker/pt/atomic_file.hpp"
#include "worker/pt/input_file.hpp"
#include "worker/snapshots/shard_plan.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace ddprun::worker {
namespace {

std::uint32_t crc_after(std::uint32_t crc, const void* data, std::uint64_t bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(crc, static_cast<const unsigned char*>(data), static_cast<std::size_t>(bytes)));
}

void require_length(const InputFile& file, const ShardSum& sum) {
  const auto expected = shard_header_bytes + static_cast<std::uint64_t>(sum.bytes);
  if (file.size_bytes() == expected) return;
  throw Error(text("has ",
                   file.size_bytes(),
                   " bytes and the snapshot says ",
                   expected,
                   "; it was cut off, or belongs to another snapshot"));
}

std::string first_line(std::string header) {
  header.resize(header.find_last_not_of(" \n") + 1);
  return header;
}

void require_header(const InputFile& file, const std::string& expected) {
  std::string header(shard_header_bytes, '\0');
  file.read_at(0, header.data(), header.size());
  if (header == expected) return;
  const bool is_header = header.starts_with("ddprun shard ");
  throw Error(text(is_header ? "is of another snapshot: \"" + first_line(header) + "\""
                             : "is no shard of a snapshot",
                   " where \"",
                   first_line(expected),
                   "\" is needed"));
}

/// Reads a file from one end to the other, with the checksum of what it has read.
class ShardReader {
 public:
  explicit ShardReader(const InputFile& file) : file_(file) {}

  void read(void* destination, std::int64_t bytes) {
    auto* next = static_cast<unsigned char*>(destination);
    while (bytes > 0) {
      const std::int64_t piece = std::min(bytes, piece_bytes);  // still in the cache for the sum
      file_.read_at(offset(), next, static_cast<std::uint64_t>(piece));
      crc_ = crc_after(crc_, next, static_cast<std::uint64_t>(piece));
      position_ += piece;
      next += piece;
      bytes -= piece;
    }
  }
  void skip_to(std::int64_t position) {
    std::array<unsigned char, shard_unit_bytes> padding{};
    while (position_ < position) {
      read(padding.data(), std::min(position - position_, shard_unit_bytes));
    }
  }
  [[nodiscard]] std::uint32_t crc() const { return crc_; }

 private:
  static constexpr std::int64_t piece_bytes = 1 << 20;

  [[nodiscard]] std::uint64_t offset() const {
    return shard_header_bytes + static_cast<std::uint64_t>(position_);
  }

  const InputFile& file_;
  std::int64_t position_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace

ShardSum write_shard(const std::filesystem::path& path,
                     const std::string& header,
                     const torch::Tensor& data) {
  const ShardSum sum{data.numel(), crc_after(0, data.data_ptr(), data.nbytes())};
  write_atomically(path, [&](FileSink& sink) {
    sink.write(header.data(), header.size());
    sink.write(data.data_ptr(), data.nbytes());
  });
  return sum;
}

void require_shard(const ExpectedShard& shard) {
  try {
    require_length(InputFile(shard.path), shard.sum);
  } catch (const Error& error) {
    throw Error(text(shard.path.string(), ": ", error.what()));
  }
}

void read_shard(const ExpectedShard& shard, const std::vector<ShardTarget>& targets) {
  try {
    const InputFile file(shard.path);
    require_length(file, shard.sum);
    require_header(file, shard.header);
    ShardReader reader(file);
    for (const ShardTarget& target : targets) {
      reader.skip_to(target.position);
      reader.read(target.bytes.data_ptr(), target.bytes.numel());
    }
    reader.skip_to(shard.sum.bytes);
    if (reader.crc() != shard.sum.crc) {
      throw Error(text("its checksum is ",
                       reader.crc(),
                       " and the snapshot says ",
                       shard.sum.crc,
                       "; it is damaged, or belongs to another snapshot"));
    }
  } catch (const Error& error) {
    throw Error(text(shard.path.string(), ": ", error.what()));
  }
}

}  // namespace ddprun::worker
