#include "launcher/system/named_file.hpp"

#include "rendezvous/fd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace ddprun {
namespace {

[[noreturn]] void give_up(int error) {
  throw std::system_error(error, std::generic_category());
}

}  // namespace

std::string read_named_file(const std::string& path,
                            std::size_t bytes_max,
                            std::chrono::milliseconds patience) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) give_up(errno);
  std::string text(bytes_max, '\0');
  std::size_t size = 0;
  for (int silences = 0; size < bytes_max;) {
    pollfd ready{file.get(), POLLIN, 0};
    const bool is_ready = ::poll(&ready, 1, static_cast<int>(patience.count())) > 0;
    const ssize_t count = ::read(file.get(), text.data() + size, bytes_max - size);
    if (count > 0) {
      size += static_cast<std::size_t>(count);
      silences = 0;
    } else if (count == 0) {
      if (!is_ready) give_up(ETIMEDOUT);  // no writer has opened it
      break;
    } else if (errno != EAGAIN && errno != EINTR) {
      give_up(errno);
    } else if (!is_ready && ++silences >= silences_max) {
      give_up(ETIMEDOUT);
    }
  }
  text.resize(size);
  return text;
}

}  // namespace ddprun
