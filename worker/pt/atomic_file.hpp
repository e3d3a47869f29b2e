// Files that are either whole or not there, whatever happens to the writer: written under another
// name, brought to the disk, then renamed over the old one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ddprun::worker {

/// The output of one file. Remembers the first failure instead of throwing, because the
/// archive writer that feeds it would write its index from a destructor and so end the process.
class FileSink {
 public:
  explicit FileSink(int file_descriptor) : file_descriptor_(file_descriptor) {}

  /// Appends. Does nothing once a write has failed.
  void write(const void* data, std::size_t bytes) noexcept;

  /// The errno of the first write that failed, 0 while none has.
  [[nodiscard]] int error_number() const { return error_number_; }

 private:
  int file_descriptor_;
  int error_number_ = 0;
  std::int64_t position_ = 0;
};

/// Replaces `path` by what `fill` writes. When it returns, content and name are on the disk; when
/// it throws FileError, or whatever `fill` throws, `path` is as it was and nothing else is left.
void write_atomically(const std::filesystem::path& path,
                      const std::function<void(FileSink&)>& fill);

/// Makes `link` a symbolic link to `target`, atomically if it was one before. Throws FileError.
void link_atomically(const std::filesystem::path& link, const std::filesystem::path& target);

/// The final name of the unfinished file `name`; nothing when it is no
/// unfinished file of this runtime.
[[nodiscard]] std::optional<std::string_view> target_of_temporary(std::string_view name);

}  // namespace ddprun::worker
