#include "worker/data/whole_file.hpp"

#include "ddprun/error.hpp"
#include "worker/file_descriptor.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>

namespace ddprun::worker {

void fail_to_read(const std::filesystem::path& path, std::string_view why) {
  throw Error(
      text("cannot read ", path.string(), ": ", why, "; check the path, or fetch the file again"));
}

std::string read_whole_file(const std::filesystem::path& path, std::int64_t bytes_max) {
  // Without O_NONBLOCK opening a pipe would wait for a writer.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) {
    fail_to_read(path, system_message(errno));
  }
  if (!S_ISREG(status.st_mode)) fail_to_read(path, "it is not a regular file");
  if (status.st_size > bytes_max) {
    fail_to_read(path, text("it has ", status.st_size, " bytes, more than ", bytes_max));
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to_read(path, system_message(errno));
    if (got == 0) fail_to_read(path, "it became shorter while it was read");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace ddprun::worker
