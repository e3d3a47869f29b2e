// Opens a file to write to, in a folder where other users may have laid a trap in its place: a
// symbolic link to a file of this user, or a file of their own, which they can read. For launcher
// and worker.
//
// A link of this user or of root is followed, as are /dev/stderr and /proc/self/fd/1: these users
// can write to the file anyway. Linux refuses the others itself in folders with the sticky bit, if
// fs.protected_symlinks is set (proc_sys_fs(5)), and nowhere else. Folders in the path may be
// links.
#pragma once

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <optional>
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

/// The user of a new file beside `path`, if one can be made. On some mounts it is not who makes it:
/// see root_squash and anonuid in exports(5), and uid in mount.cifs(8).
[[nodiscard]] inline std::optional<uid_t> user_of_new_files(const std::string& path) {
  std::string probe = path + ".XXXXXX";
  const int file = ::mkostemp(probe.data(), O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat made {};
  const bool is_known = ::fstat(file, &made) == 0;
  ::unlink(probe.c_str());
  ::close(file);
  if (!is_known) return std::nullopt;
  return made.st_uid;
}

/// Whether the `file`, open at `path`, is a regular one that neither this user nor root has made.
[[nodiscard]] inline bool is_of_another_user(int file, const std::string& path) {
  struct stat found {};
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return false;
  if (found.st_uid == ::geteuid() || found.st_uid == 0) return false;
  return user_of_new_files(path) != found.st_uid;
}

}  // namespace ddprun
