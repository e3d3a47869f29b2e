#include "worker/pt/input_file.hpp"

#include "ddprun/error.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace ddprun::worker {

InputFile::InputFile(const std::filesystem::path& path)
    // Opening a FIFO would wait for a writer.
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status {};
  if (!file_.is_open() || ::fstat(file_.get(), &status) != 0) {
    throw Error(text("cannot open: ", system_message(errno)));
  }
  if (!S_ISREG(status.st_mode)) throw Error("not a regular file");
  size_bytes_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read_at(std::uint64_t offset, void* destination, std::uint64_t bytes) const {
  auto* next = static_cast<char*>(destination);
  while (bytes > 0) {
    const ssize_t got = ::pread(file_.get(), next, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(text("cannot read: ", system_message(errno)));
    if (got == 0) throw Error("it became shorter while it was read");
    next += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
}

}  // namespace ddprun::worker
