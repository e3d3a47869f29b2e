#include "launcher/processes/child_signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace ddprun {
namespace {

int open_child_signals() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const int fd = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

}  // namespace

ChildSignals::ChildSignals(boost::asio::io_context& context, std::function<void()> on_ended)
    : signals_(context, open_child_signals()), on_ended_(std::move(on_ended)) {}

void ChildSignals::listen() {
  signals_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this](boost::system::error_code error) {
                        if (error) return;
                        std::array<signalfd_siginfo, 16> ignored{};
                        while (::read(signals_.native_handle(), ignored.data(), sizeof ignored) > 0)
                          continue;
                        on_ended_();
                        listen();
                      });
}

}  // namespace ddprun
