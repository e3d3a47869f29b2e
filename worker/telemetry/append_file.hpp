// A file that grows by whole records, and that never ends a training: once it is open, a write that
// fails is a warning.
#pragma once

#include "worker/file_descriptor.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace ddprun::worker {

using Warn = std::function<void(const std::string& line)>;

/// Creates `folder`, if it is not there. Throws FileError.
void make_folder(const std::filesystem::path& folder);

/// Opens `path` for an AppendFile; `flags` are those of open() beside O_RDWR. Throws FileError.
[[nodiscard]] FileDescriptor open_file(const std::filesystem::path& path, int flags);

class AppendFile {
 public:
  static constexpr std::size_t buffer_bytes_max = 1 << 20;  ///< Beyond it append() writes.

  /// Writes after the first `size_bytes` of `file`, which `path` names in messages. `warn` gets the
  /// first failure; without a function it goes to stderr.
  AppendFile(FileDescriptor file, std::filesystem::path path, std::int64_t size_bytes, Warn warn);
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile() { flush(); }

  void append(std::string_view record);

  /// Hands the buffer to the kernel. If that fails, its records are lost, the file ends with the
  /// last record before them, and later records are tried again.
  void flush();

  /// The time of the last flush(); at first, that of the opening.
  [[nodiscard]] std::chrono::steady_clock::time_point flushed_at() const { return flushed_at_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  void fail(int error_number);

  FileDescriptor file_;
  std::filesystem::path path_;
  Warn warn_;
  bool has_warned_ = false;
  std::int64_t size_bytes_;
  std::string buffer_;
  std::chrono::steady_clock::time_point flushed_at_ = std::chrono::steady_clock::now();
};

}  // namespace ddprun::worker
