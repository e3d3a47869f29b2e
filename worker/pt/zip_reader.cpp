#include "worker/pt/zip_reader.hpp"

#include "ddprun/error.hpp"
#include "worker/pt/shown.hpp"

#include <zlib.h>

#include <algorithm>
#include <string_view>

namespace ddprun::worker {
namespace {

// Offsets and signatures are those of PKWARE's APPNOTE.TXT, sections 4.3.7 to 4.3.16 and 4.5.3.
constexpr std::uint64_t local_header_bytes = 30;
constexpr std::uint64_t index_entry_bytes = 46;
constexpr std::uint64_t end_bytes = 22;
constexpr std::uint64_t end64_locator_bytes = 20;
constexpr std::uint64_t end64_bytes = 56;
constexpr std::uint64_t comment_bytes_max = 65'535;
constexpr std::uint64_t index_bytes_max = 256 << 20;
constexpr std::uint32_t in_zip64_field = 0xffff'ffff;
constexpr std::string_view local_header_signature("PK\3\4", 4);
constexpr std::string_view index_entry_signature("PK\1\2", 4);
constexpr std::string_view end_signature("PK\5\6", 4);
constexpr std::string_view end64_signature("PK\6\6", 4);
constexpr std::string_view end64_locator_signature("PK\6\7", 4);

[[noreturn]] void damaged(std::string_view what) {
  throw Error(text("not a complete zip archive: ", what));
}

/// Little-endian numbers in a piece of the file. Asking beyond its end means a damaged file.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t number(std::uint64_t offset, std::uint64_t size) const {
    std::uint64_t value = 0;
    const std::string_view bytes = slice(offset, size);
    for (std::size_t i = bytes.size(); i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return value;
  }
  [[nodiscard]] std::string_view slice(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) damaged("a header is cut off");
    return bytes_.substr(offset, size);
  }

 private:
  std::string_view bytes_;
};

/// The zip64 field of an index entry holds, in order, those numbers that did not fit in 32 bits.
class Zip64Field {
 public:
  explicit Zip64Field(std::string_view extra) {
    const Fields fields(extra);
    for (std::uint64_t at = 0; at + 4 <= extra.size();) {
      const std::uint64_t size = fields.number(at + 2, 2);
      if (fields.number(at, 2) == 1) {
        values_ = fields.slice(at + 4, size);
        return;
      }
      at += 4 + size;
    }
  }

  std::uint64_t resolve(std::uint64_t value) {
    if (value != in_zip64_field) return value;
    const std::uint64_t resolved = Fields(values_).number(0, 8);
    values_.remove_prefix(8);
    return resolved;
  }

 private:
  std::string_view values_;
};

}  // namespace

ZipReader::ZipReader(const std::filesystem::path& path) : file_(path) {
  read_records(find_index());
}

ZipReader::Index ZipReader::find_index() const {
  const std::uint64_t file_bytes = file_.size_bytes();
  if (file_bytes < end_bytes) damaged("it has only " + std::to_string(file_bytes) + " bytes");
  const std::uint64_t tail_bytes = std::min(file_bytes, end_bytes + comment_bytes_max);
  const std::string tail = read_at(file_bytes - tail_bytes, tail_bytes);
  const std::size_t found = tail.rfind(end_signature, tail_bytes - end_bytes);
  if (found == std::string::npos) damaged("the end is missing");
  const Fields end(std::string_view(tail).substr(found));
  Index index{end.number(16, 4), end.number(12, 4), end.number(10, 2)};

  const std::uint64_t end_offset = file_bytes - tail_bytes + found;
  if (end_offset >= end64_locator_bytes) {
    const std::string locator = read_at(end_offset - end64_locator_bytes, end64_locator_bytes);
    if (locator.starts_with(end64_locator_signature)) {
      const std::string end64 = read_at(Fields(locator).number(8, 8), end64_bytes);
      if (!end64.starts_with(end64_signature)) damaged("the zip64 end is missing");
      const Fields fields(end64);
      index = {fields.number(48, 8), fields.number(40, 8), fields.number(32, 8)};
    }
  }
  if (index.size_bytes > index_bytes_max) damaged("its index is larger than 256 MiB");
  return index;
}

void ZipReader::read_records(const Index& index) {
  const std::string bytes = read_at(index.offset, index.size_bytes);
  const Fields fields(bytes);
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < index.records_count; ++i) {
    if (fields.slice(at, 4) != index_entry_signature) damaged("its index is damaged");
    const std::uint64_t name_bytes = fields.number(at + 28, 2);
    const std::uint64_t extra_bytes = fields.number(at + 30, 2);
    const std::uint64_t comment_bytes = fields.number(at + 32, 2);
    const std::string name(fields.slice(at + index_entry_bytes, name_bytes));
    Zip64Field zip64(fields.slice(at + index_entry_bytes + name_bytes, extra_bytes));
    Record record;
    record.name_in_file = name;
    record.crc = static_cast<std::uint32_t>(fields.number(at + 16, 4));
    record.size_bytes = zip64.resolve(fields.number(at + 24, 4));
    const std::uint64_t stored_bytes = zip64.resolve(fields.number(at + 20, 4));
    record.header_offset = zip64.resolve(fields.number(at + 42, 4));
    if (fields.number(at + 10, 2) != 0 || stored_bytes != record.size_bytes) {
      throw Error(text("record ", shown(name), " is compressed, which torch.save() never does"));
    }
    add_record(std::move(record));
    at += index_entry_bytes + name_bytes + extra_bytes + comment_bytes;
  }
}

void ZipReader::add_record(Record record) {
  // Records that overlap could ask for far more memory than the file is large.
  if (record.size_bytes > file_.size_bytes() - records_bytes_) damaged("its records overlap");
  records_bytes_ += record.size_bytes;
  const std::size_t folder_end = record.name_in_file.find('/');
  if (folder_end == std::string::npos) {
    damaged(text("record ", shown(record.name_in_file), " has no folder"));
  }
  std::string name = record.name_in_file.substr(folder_end + 1);
  if (!records_.emplace(name, std::move(record)).second) {
    damaged(text("two records are called ", shown(name)));
  }
}

std::optional<std::uint64_t> ZipReader::size_bytes(const std::string& name) const {
  const auto found = records_.find(name);
  if (found == records_.end()) return std::nullopt;
  return found->second.size_bytes;
}

void ZipReader::read(const std::string& name, void* destination) const {
  const auto found = records_.find(name);
  if (found == records_.end()) throw Error(text("record ", shown(name), " is missing"));
  const Record& record = found->second;
  const std::string header = read_at(record.header_offset, local_header_bytes);
  const Fields fields(header);
  const std::uint64_t name_bytes = fields.number(26, 2);
  if (!header.starts_with(local_header_signature) ||
      read_at(record.header_offset + local_header_bytes, name_bytes) != record.name_in_file) {
    throw Error(text("record ", shown(name), " is not where the index says"));
  }
  read_at(record.header_offset + local_header_bytes + name_bytes + fields.number(28, 2),
          destination,
          record.size_bytes);
  const auto* bytes = static_cast<const Bytef*>(destination);
  if (::crc32_z(0, bytes, record.size_bytes) != record.crc) {
    throw Error(text("record ", shown(name), " has a wrong checksum"));
  }
}

std::string ZipReader::read(const std::string& name) const {
  std::string bytes(size_bytes(name).value_or(0), '\0');
  read(name, bytes.data());
  return bytes;
}

void ZipReader::read_at(std::uint64_t offset, void* destination, std::uint64_t bytes) const {
  const std::uint64_t file_bytes = file_.size_bytes();
  if (offset > file_bytes || bytes > file_bytes - offset) damaged("it points beyond its end");
  file_.read_at(offset, destination, bytes);
}

std::string ZipReader::read_at(std::uint64_t offset, std::uint64_t bytes) const {
  if (bytes > file_.size_bytes()) damaged("it points beyond its end");
  std::string result(bytes, '\0');
  read_at(offset, result.data(), bytes);
  return result;
}

}  // namespace ddprun::worker
