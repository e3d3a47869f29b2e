#include "tests/fuzz/naive_zip.hpp"

#include <zlib.h>

#include <cstddef>

namespace ddprun::fuzz {
namespace {

constexpr std::uint64_t in_zip64_field = 0xffff'ffff;

std::string little_endian(std::uint64_t value, int bytes) {
  std::string result;
  for (int i = 0; i < bytes; ++i) result += static_cast<char>(value >> (8 * i));
  return result;
}

std::uint64_t checksum(std::string_view bytes) {
  return ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

/// What both headers of a record have in common, from the version on.
std::string common_header(const ZipRecord& record, std::uint64_t method, std::uint64_t crc) {
  return little_endian(45, 2) + little_endian(0, 2) + little_endian(method, 2) +
         little_endian(0, 4) + little_endian(crc, 4) + little_endian(record.content.size(), 4) +
         little_endian(record.content.size(), 4) + little_endian(record.name.size(), 2);
}

std::string local_record(const ZipRecord& record) {
  return "PK\3\4" + common_header(record, 0, checksum(record.content)) + little_endian(0, 2) +
         record.name + record.content;
}

std::string index_entry(ZipRecord record, std::uint64_t offset, ZipLie lie, bool is_zip64) {
  const std::uint64_t crc = checksum(record.content) ^ (lie == ZipLie::checksum ? 1 : 0);
  std::uint64_t bytes = record.content.size();
  if (lie == ZipLie::size) ++bytes;
  if (lie == ZipLie::name) record.name += '?';
  if (lie == ZipLie::place) ++offset;
  const auto number = [&](std::uint64_t value) {
    return little_endian(is_zip64 ? in_zip64_field : value, 4);
  };
  const std::string field = little_endian(1, 2) + little_endian(24, 2) + little_endian(bytes, 8) +
                            little_endian(bytes, 8) + little_endian(offset, 8);
  const std::string extra = is_zip64 ? field : "";
  return "PK\1\2" + little_endian(45, 2) + little_endian(45, 2) + little_endian(0, 2) +
         little_endian(lie == ZipLie::method ? 8 : 0, 2) + little_endian(0, 4) +
         little_endian(crc, 4) + number(bytes) + number(bytes) +
         little_endian(record.name.size(), 2) + little_endian(extra.size(), 2) +
         std::string(10, '\0') + number(offset) + record.name + extra;
}

}  // namespace

std::string naive_zip(const std::vector<ZipRecord>& records, ZipLie lie, bool is_zip64) {
  std::string archive;
  std::string index;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const bool is_last = i + 1 == records.size();
    index += index_entry(records[i], archive.size(), is_last ? lie : ZipLie::none, is_zip64);
    archive += local_record(records[i]);
  }
  const std::uint64_t index_offset = archive.size();
  archive += index;
  const std::uint64_t end64_offset = archive.size();
  const auto number = [&](std::uint64_t value, int bytes) {
    return little_endian(is_zip64 ? ~std::uint64_t{0} : value, bytes);
  };
  if (is_zip64) {
    archive += "PK\6\6" + little_endian(44, 8) + little_endian(45, 2) + little_endian(45, 2) +
               little_endian(0, 8) + little_endian(records.size(), 8) +
               little_endian(records.size(), 8) + little_endian(index.size(), 8) +
               little_endian(index_offset, 8);
    archive +=
        "PK\6\7" + little_endian(0, 4) + little_endian(end64_offset, 8) + little_endian(1, 4);
  }
  return archive + "PK\5\6" + little_endian(0, 4) + number(records.size(), 2) +
         number(records.size(), 2) + number(index.size(), 4) + number(index_offset, 4) +
         little_endian(0, 2);
}

}  // namespace ddprun::fuzz
