#include "launcher/system/whole_file.hpp"

#include "launcher/system/random_number.hpp"
#include "rendezvous/fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace ddprun {

int write_durably(const std::string& path, std::string_view bytes, int older, mode_t mode) {
  constexpr int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  const Fd file(::open(path.c_str(), flags | older, mode));
  if (!file.is_open()) return errno;
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return ::fsync(file.get()) == 0 ? 0 : errno;
}

int sync_folder(const std::string& path) {
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return errno;
  return ::fsync(folder.get()) == 0 || errno == EINVAL ? 0 : errno;
}

/// The new file has a short name, since that of `path` may be as long as names can be.
std::string write_whole_file(const std::string& path, std::string_view bytes) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const std::string made = folder / fmt::format(".ddprun-{:016x}", random_number());
  int error = write_durably(made, bytes, O_EXCL, 0666);
  if (error == 0 && ::rename(made.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(made.c_str());
    return std::strerror(error);
  }
  (void)sync_folder(folder);  // the file is there, and may be lost by a crash of the machine alone
  return {};
}

}  // namespace ddprun
