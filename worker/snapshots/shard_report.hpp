// What ranks tell each other once each has written its shard of a snapshot, or has not, and what
// follows from it.
#pragma once

#include "worker/snapshots/shard_index.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddprun::worker {

struct ShardReport {
  enum class Kind : std::uint8_t {
    written,    ///< It is on the disk.
    refused,    ///< The filesystem refused it; a later one may succeed.
    worthless,  ///< It must not be saved; training is lost.
  } kind = Kind::written;
  bool has_older = false;  ///< Of rank 0: whether a restart would find a snapshot.
  ShardSum sum;            ///< Of a written one.
  std::uint32_t layout =
      0;               ///< A checksum of the storages' sizes, which are the same on all ranks.
  std::string detail;  ///< Of a written one the host that has written it, else the reason.
  friend bool operator==(const ShardReport&, const ShardReport&) = default;
};

[[nodiscard]] std::string to_text(const ShardReport& report);
/// The report that to_text() has made `line` of.
[[nodiscard]] ShardReport report_from(const std::string& line);

[[nodiscard]] std::uint32_t layout_of(const std::vector<std::int64_t>& storages_bytes);

/// Why the shards that `reports`, one of each rank, tell of are no snapshot.
struct ShardRefusal {
  std::string reason;
  bool is_final = false;  ///< No later snapshot would be better.
  friend bool operator==(const ShardRefusal&, const ShardRefusal&) = default;
};

/// Nothing if they are one. What is final comes before what is not, then a low rank before a high
/// one.
[[nodiscard]] std::optional<ShardRefusal> refusal_in(const std::vector<ShardReport>& reports);

}  // namespace ddprun::worker
