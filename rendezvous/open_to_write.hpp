// Opens a file to write to, in a folder where other users may have laid a trap: a symbolic link in
// place of the file, which leads to a file of this user. For launcher and worker.
//
// A link of this user or of root is followed, as are /dev/stderr and /proc/self/fd/1: these users
// can write to the file anyway. Linux refuses the others itself in folders with the sticky bit, if
// fs.protected_symlinks is set (proc_sys_fs(5)), and nowhere else. Folders in the path may be
// links. Or a file of another user, who can read what is written to it.
#pragma once

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

namespace ddprun {

/// As open(2) with O_CLOEXEC. ELOOP: `path` is a link of another user than `user` or root.
[[nodiscard]] inline int open_to_write(const std::string& path,
                                       int flags,
                                       mode_t mode,
                                       uid_t user = ::geteuid()) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode);
  if (file >= 0 || errno != ELOOP) return file;
  // From here on the link itself is open: another one in its place changes nothing.
  const int link = ::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (link < 0) return -1;
  struct stat status {};
  std::array<char, 4'096> target{};
  const bool is_trusted =
      ::fstat(link, &status) == 0 && (status.st_uid == user || status.st_uid == 0);
  struct statfs filesystem {};
  const bool is_in_proc =
      ::fstatfs(link, &filesystem) == 0 && filesystem.f_type == PROC_SUPER_MAGIC;
  const ssize_t size = is_trusted ? ::readlinkat(link, "", target.data(), target.size()) : -1;
  ::close(link);
  if (!is_trusted || size <= 0 || static_cast<std::size_t>(size) == target.size()) {
    errno = ELOOP;
    return -1;
  }
  std::string followed(target.data(), static_cast<std::size_t>(size));
  if (is_in_proc) {
    followed = path;  // "pipe:[4711]": the kernel alone can follow it
  } else if (!followed.starts_with('/')) {
    followed.insert(0, path, 0, path.rfind('/') + 1);  // npos + 1 is 0
  }
  return ::open(followed.c_str(), flags | O_CLOEXEC, mode);
}

/// Whether the open `file` is a regular one of another user than `user` or root. A server may have
/// given root's own to nobody (root_squash in exports(5)): that counts as root's for root.
[[nodiscard]] inline bool is_of_another_user(int file, uid_t user = ::geteuid()) {
  constexpr uid_t nobody = 65'534;
  struct stat found {};
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return false;
  if (found.st_uid == user || found.st_uid == 0) return false;
  return user != 0 || found.st_uid != nobody;
}

}  // namespace ddprun
