#include "launcher/processes/blocked_signal.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace ddprun {
namespace {

int open_signals(int number) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  const int fd = ::signalfd(-1, &one, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

}  // namespace

BlockedSignal::BlockedSignal(boost::asio::io_context& context,
                             int number,
                             std::function<void()> on_arrived)
    : signals_(context, open_signals(number)), on_arrived_(std::move(on_arrived)) {}

void BlockedSignal::listen() {
  signals_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this](boost::system::error_code error) {
                        if (error) return;
                        std::array<signalfd_siginfo, 16> ignored{};
                        while (::read(signals_.native_handle(), ignored.data(), sizeof ignored) > 0)
                          continue;
                        on_arrived_();
                        listen();
                      });
}

}  // namespace ddprun
