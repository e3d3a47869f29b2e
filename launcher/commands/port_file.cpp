#include "launcher/commands/port_file.hpp"

#include "launcher/system/whole_file.hpp"
#include "rendezvous/printable.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace ddprun {

PortFile::PortFile(std::string path, std::uint16_t port) : path_(std::move(path)) {
  struct stat found {};
  if (::lstat(path_.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
    throw Failure(Error(ExitStatus::usage,
                        fmt::format("--port-file: '{}' is there and is no file", printable(path_)),
                        "",
                        "name a new file"));
  }
  const std::string why = write_whole_file(path_, fmt::format("{}\n", port));
  if (!why.empty()) {
    throw Failure(Error(ExitStatus::system_refused,
                        fmt::format("--port-file: cannot write '{}'", printable(path_)),
                        why,
                        "name a file in a folder that this user may write to"));
  }
  written_ = Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

PortFile::~PortFile() {
  struct stat own {};
  struct stat found {};
  if (!written_.is_open() || ::fstat(written_.get(), &own) != 0) return;
  if (::lstat(path_.c_str(), &found) != 0) return;
  if (found.st_dev == own.st_dev && found.st_ino == own.st_ino) (void)::unlink(path_.c_str());
}

}  // namespace ddprun
