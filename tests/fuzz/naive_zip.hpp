// Writes zip archives byte by byte, as simply as possible and also wrong ones: what the reader is
// compared with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::fuzz {

struct ZipRecord {
  std::string name;  ///< With its folder.
  std::string content;
};

/// A change of one number of an archive, which a reader must notice.
enum class ZipLie : std::uint8_t { none, checksum, size, name, place, method };

/// An archive of `records`, stored; with `is_zip64` all numbers that can be are in zip64 fields.
/// The last record's numbers say `lie`.
[[nodiscard]] std::string naive_zip(const std::vector<ZipRecord>& records,
                                    ZipLie lie,
                                    bool is_zip64);

}  // namespace ddprun::fuzz
