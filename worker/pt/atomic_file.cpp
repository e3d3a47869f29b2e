#include "worker/pt/atomic_file.hpp"

#include "ddprun/error.hpp"
#include "worker/file_descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <random>

namespace ddprun::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view marker = ".tmp.";
constexpr std::size_t digits_count = 16;
constexpr std::string_view hex_digits = "0123456789abcdef";

/// A name beside `path` that no other writer, on this node or another, takes as well.
fs::path temporary_for(const fs::path& path) {
  std::random_device entropy;
  std::string name = path.string();
  name += marker;
  for (std::size_t i = 0; i < digits_count; ++i) name += hex_digits[entropy() % hex_digits.size()];
  return name;
}

[[noreturn]] void fail(std::string_view doing, const fs::path& path, int error_number) {
  const bool full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  throw FileError(text("cannot ",
                       doing,
                       " ",
                       path.string(),
                       ": ",
                       system_message(error_number),
                       full ? "; free some space or put the file elsewhere"
                            : "; check that the folder exists and may be written to"));
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// A rename certainly survives a crash of the machine only once the folder is on the disk.
void sync_folder(const fs::path& folder) {
  const FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open()) fail("open folder", folder, errno);
  // EINVAL: a filesystem that cannot sync folders, where there is nothing more to do.
  if (::fsync(opened.get()) != 0 && errno != EINVAL) fail("sync folder", folder, errno);
}

/// Removes its file unless that was renamed away.
class Temporary {
 public:
  explicit Temporary(fs::path path) : path_(std::move(path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  [[nodiscard]] const fs::path& path() const { return path_; }

  void become(const fs::path& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) fail("replace", target, errno);
    path_.clear();
  }

 private:
  fs::path path_;
};

}  // namespace

/// Writes in pieces, so that the disk writes one while the next is made: by default
/// the kernel would keep it idle until the fsync at the end. A failed start is no error.
void FileSink::write(const void* data, std::size_t bytes) noexcept {
  constexpr std::size_t piece_bytes = 8 << 20;
  const char* next = static_cast<const char*>(data);
  while (bytes > 0 && error_number_ == 0) {
    const ssize_t written = ::write(file_descriptor_, next, std::min(bytes, piece_bytes));
    if (written >= 0) {
      if (static_cast<std::size_t>(written) == piece_bytes) {
        ::sync_file_range(file_descriptor_, position_, written, SYNC_FILE_RANGE_WRITE);
      }
      position_ += written;
      next += written;
      bytes -= static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      error_number_ = errno;
    }
  }
}

void write_atomically(const fs::path& path, const std::function<void(FileSink&)>& fill) {
  const fs::path beside = temporary_for(path);
  const FileDescriptor file(
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));  // as umask allows
  if (!file.is_open()) fail("create", path, errno);
  Temporary temporary(beside);
  FileSink sink(file.get());
  fill(sink);
  if (sink.error_number() != 0) fail("write", path, sink.error_number());
  if (::fsync(file.get()) != 0) fail("write", path, errno);
  temporary.become(path);
  sync_folder(folder_of(path));
}

void link_atomically(const fs::path& link, const fs::path& target) {
  const fs::path beside = temporary_for(link);
  if (::symlink(target.c_str(), beside.c_str()) != 0) fail("create", link, errno);
  Temporary temporary(beside);
  temporary.become(link);
  sync_folder(folder_of(link));
}

std::optional<std::string_view> target_of_temporary(std::string_view name) {
  const std::size_t tail_bytes = marker.size() + digits_count;
  if (name.size() <= tail_bytes) return std::nullopt;
  const std::string_view tail = name.substr(name.size() - tail_bytes);
  if (!tail.starts_with(marker) ||
      tail.find_first_not_of(hex_digits, marker.size()) != std::string_view::npos) {
    return std::nullopt;
  }
  return name.substr(0, name.size() - tail_bytes);
}

}  // namespace ddprun::worker
