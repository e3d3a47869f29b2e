// Reads the zip archives that torch.save() writes: stored records, no compression, zip64 allowed.
// LibTorch's own reader is built without the CRC check, so it returns damaged tensors without an
// error; this one checks every record it reads and trusts no number in the file.
#pragma once

#include "worker/pt/input_file.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddprun::worker {

/// Bounds: the index may take 256 MiB, and all records together no more than the file.
class ZipReader {
 public:
  /// Reads the index of the archive at `path`. Throws Error when it cannot be read, is not a zip
  /// archive, or is one that was cut off or damaged.
  explicit ZipReader(const std::filesystem::path& path);

  /// The size of the record in bytes, nothing when there is none. Names are without the folder that
  /// all records of such an archive are in: "data.pkl", "data/0".
  [[nodiscard]] std::optional<std::uint64_t> size_bytes(const std::string& name) const;

  /// Reads the whole record into `destination`, which has room for size_bytes(name). Throws Error
  /// when there is no such record, it cannot be read, or its checksum is wrong.
  void read(const std::string& name, void* destination) const;

  /// The same as a string.
  [[nodiscard]] std::string read(const std::string& name) const;

 private:
  struct Record {
    std::string name_in_file;
    std::uint64_t header_offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint32_t crc = 0;
  };
  struct Index {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t records_count = 0;
  };

  [[nodiscard]] Index find_index() const;
  void read_records(const Index& index);
  void add_record(Record record);
  void read_at(std::uint64_t offset, void* destination, std::uint64_t bytes) const;
  [[nodiscard]] std::string read_at(std::uint64_t offset, std::uint64_t bytes) const;

  InputFile file_;
  std::uint64_t records_bytes_ = 0;
  std::map<std::string, Record> records_;
};

}  // namespace ddprun::worker
