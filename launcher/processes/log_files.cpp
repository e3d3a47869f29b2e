#include "launcher/processes/log_files.hpp"

#include "rendezvous/open_to_write.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace ddprun {

namespace {

/// Waits for no reader of a pipe.
Fd open_for_appending(const std::string& path, int more_flags) {
  constexpr int flags = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY;
  return Fd(open_to_write(path, flags | more_flags, 0644));
}

/// Another user may have laid a pipe in the file's place, which would hold up the job.
Fd open_log(const std::string& path, int more_flags) {
  Fd file = open_for_appending(path, more_flags);
  struct stat found {};
  if (!file.is_open() || (::fstat(file.get(), &found) == 0 && !S_ISFIFO(found.st_mode)))
    return file;
  errno = EPERM;
  return {};
}

/// Whether it is there; else the errno says why not.
bool make_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  errno = error.value();
  return !error;
}

/// Returns 0 or an errno. NFS cannot refuse to replace a file, so there it is looked for before.
int rename_to_new(const std::string& path, const std::string& to) {
  if (::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::symlink_status(to, error))) return EEXIST;
  std::filesystem::rename(path, to, error);
  return error.value();
}

/// Whether it is empty and no other run has taken it; then it is this one's until nobody has it
/// open any more. Where the filesystem has no locks, nobody is known to have taken it.
bool take(const Fd& file) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat found {};
  return ::fstat(file.get(), &found) == 0 && found.st_size == 0;
}

/// Whatever is in it; false if it is still there. Another run may have done it.
bool rename_aside(const std::string& path) {
  constexpr int runs_max = 10'000;
  for (int run = 1; run < runs_max; ++run) {
    const int refused = rename_to_new(path, fmt::format("{}.{}", path, run));
    if (refused != EEXIST) return refused == 0 || refused == ENOENT;
  }
  return false;
}

}  // namespace

void put_aside(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > 0) (void)rename_aside(path);
}

/// Another run may make a file between any two steps. One that was made here is not asked for its
/// owner: a server may give root's files to nobody.
Fd open_new_log(const std::string& path) {
  constexpr int attempts_max = 10;
  if (!make_folder_of(path)) return {};
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    Fd file = open_log(path, O_EXCL);
    const bool was_there = !file.is_open() && errno == EEXIST;
    if (was_there) file = open_log(path, 0);
    if (!file.is_open()) return file;
    if (!(was_there && is_of_another_user(file.get(), path)) && take(file)) return file;
    if (!rename_aside(path)) break;
  }
  Fd file = reopen_log(path);
  if (!is_of_another_user(file.get(), path)) return file;
  errno = EPERM;
  return {};
}

Fd reopen_log(const std::string& path) {
  return open_log(path, 0);
}

Fd open_to_append(const std::string& path) {
  if (!make_folder_of(path)) return {};
  Fd file = open_for_appending(path, 0);
  if (!file.is_open() || !is_of_another_user(file.get(), path)) return file;
  errno = EPERM;
  return {};
}

/// The link is renamed into place, so that there is always one.
void open_log_folder(const std::string& path) {
  const std::filesystem::path target(path);
  const std::string link = target.parent_path() / "latest";
  const std::string made = fmt::format("{}.{}", link, ::getpid());
  std::error_code ignored;
  std::filesystem::create_directories(target, ignored);
  std::filesystem::remove(made, ignored);
  std::filesystem::create_directory_symlink(target.filename(), made, ignored);
  std::error_code error;
  std::filesystem::rename(made, link, error);
  if (error) std::filesystem::remove(made, ignored);  // `latest` is a folder, not a link
}

}  // namespace ddprun
