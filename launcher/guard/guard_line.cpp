#include "launcher/guard/guard_line.hpp"

#include "launcher/guard/guard.hpp"

#include <unistd.h>

#include <array>
#include <cstddef>
#include <utility>

namespace ddprun {

GuardLine::GuardLine(boost::asio::io_context& context, Fd socket, Handlers handlers)
    : line_(context, socket.release()), handlers_(std::move(handlers)) {}

void GuardLine::listen() {
  line_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [this](boost::system::error_code error) {
                     if (!error) read();
                   });
}

void GuardLine::read() {
  std::array<unsigned char, 64> bytes{};
  const ssize_t count = ::read(line_.native_handle(), bytes.data(), bytes.size());
  if (count <= 0) return handlers_.on_lost();
  for (ssize_t i = 0; i < count; ++i) {
    const unsigned char byte = bytes.at(static_cast<std::size_t>(i));
    handlers_.on_signal(byte & ~from_terminal_bit, (byte & from_terminal_bit) != 0);
  }
  listen();
}

}  // namespace ddprun
