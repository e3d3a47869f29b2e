// A file that is read by position, such as one with an index.
#pragma once

#include "worker/file_descriptor.hpp"

#include <cstdint>
#include <filesystem>

namespace ddprun::worker {

/// For any thread. Its Errors do not name the path; who opens the file adds it.
class InputFile {
 public:
  /// Opens the regular file at `path`. Throws Error if it cannot, or it is another kind of file.
  explicit InputFile(const std::filesystem::path& path);

  /// As it was when the file was opened.
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }

  /// Reads the `bytes` bytes from `offset` on, all within size_bytes(). Throws Error if they cannot
  /// be read, also because the file has become shorter.
  void read_at(std::uint64_t offset, void* destination, std::uint64_t bytes) const;

 private:
  FileDescriptor file_;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace ddprun::worker
