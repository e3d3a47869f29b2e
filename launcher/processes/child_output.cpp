#include "launcher/processes/child_output.hpp"

#include "launcher/system/clock.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace ddprun {

ChildOutput::ChildOutput(boost::asio::io_context& context,
                         Writer& writer,
                         Fd pipe,
                         Destination destination)
    : writer_(writer),
      pipe_(context, pipe.release()),
      destination_(std::move(destination)),
      lines_(destination_.prefix, destination_.prefixed_beginnings),
      filter_(destination_.prefix, destination_.filters) {}

void ChildOutput::start() {
  wait();
}

void ChildOutput::wait() {
  pipe_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [self = shared_from_this()](boost::system::error_code error) {
                     if (error || !self->pipe_.is_open()) return;
                     if (self->read_once() == Left::ended) return;
                     if (self->writer_.full()) {
                       self->writer_.when_room([waiting = self->weak_from_this()] {
                         const auto still = waiting.lock();
                         if (still && still->pipe_.is_open()) still->wait();
                       });
                     } else {
                       self->wait();
                     }
                   });
}

void ChildOutput::finish() {
  if (!pipe_.is_open()) return;
  constexpr int reads_max =
      64;  // many times a pipe's capacity: bounds the read from a process that still writes
  for (int i = 0; i < reads_max && read_once() == Left::more; ++i) continue;
  boost::system::error_code ignored;
  pipe_.close(ignored);
  show(bars_.finish());
  if (destination_.console) writer_.write(destination_.console, lines_.finish());
  if (destination_.log) writer_.finish(std::move(destination_.log));
  if (!destination_.filtered) return;
  writer_.write(destination_.filtered, filter_.finish());
  writer_.finish(std::move(destination_.filtered));
}

ChildOutput::Left ChildOutput::read_once() {
  std::array<char, 64 * 1024> buffer;  // a pipe's default capacity
  const ssize_t count = ::read(pipe_.native_handle(), buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return Left::more;
  if (count < 0 && errno == EAGAIN) return Left::nothing_now;
  if (count <= 0) return Left::ended;
  add({buffer.data(), static_cast<std::size_t>(count)});
  return Left::more;
}

void ChildOutput::add(std::string_view bytes) {
  tail_.feed(bytes);
  if (destination_.log) writer_.write(destination_.log, std::string(bytes));
  show(destination_.thins_bars ? bars_.feed(bytes, now()) : bytes);
}

void ChildOutput::show(std::string_view bytes) {
  if (destination_.filtered) writer_.write(destination_.filtered, filter_.feed(bytes));
  if (destination_.console) writer_.write(destination_.console, lines_.feed(bytes));
}

}  // namespace ddprun
