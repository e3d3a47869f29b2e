#include "launcher/workers/control_channel.hpp"

#include "launcher/system/clock.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

namespace ddprun {

ControlEnds open_control() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {Fd(ends[0]), Fd(ends[1])};
}

ControlChannel::ControlChannel(boost::asio::io_context& context,
                               Fd agent_end,
                               Rank rank,
                               Handlers handlers)
    : socket_(context, agent_end.release()), handlers_(std::move(handlers)), reader_(rank) {}

void ControlChannel::start() {
  wait();
}

void ControlChannel::wait() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [waiting = weak_from_this()](boost::system::error_code error) {
                       const auto self = waiting.lock();
                       if (error || !self || !self->socket_.is_open()) return;
                       self->read_once() == Left::ended ? self->close() : self->wait();
                     });
}

ControlChannel::Left ControlChannel::read_once() {
  std::array<char, read_bytes_max> buffer;
  const ssize_t count = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0 && errno == EINTR) return Left::more;
  if (count < 0 && errno == EAGAIN) return Left::nothing_now;
  if (count <= 0) return Left::ended;
  tell(reader_.feed(now(), {buffer.data(), static_cast<std::size_t>(count)}));
  return reader_.has_given_up() ? Left::ended : Left::more;
}

void ControlChannel::tell(const ControlReader::Heard& heard) const {
  for (const std::string& note : heard.notes) handlers_.say(note);
  for (const ControlMessage& message : heard.messages) handlers_.hear(message);
}

bool ControlChannel::ask(const ControlRequest& request) {
  const std::string line = control_line(request);
  const bool has_room = unsent_.size() + line.size() <= unsent_bytes_max;
  if (!socket_.is_open() || !reader_.has_greeted() || !has_room) return false;
  unsent_ += line;
  return send_unsent();
}

/// As much as the kernel takes; the rest when it takes more, which it does once the worker reads.
/// False if the worker has closed its end: what it has sent before that is still to be read.
bool ControlChannel::send_unsent() {
  while (!unsent_.empty()) {
    const ssize_t count = ::send(
        socket_.native_handle(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN) {
      unsent_.clear();
      return false;
    }
    if (count < 0) break;
    unsent_.erase(0, static_cast<std::size_t>(count));
  }
  if (unsent_.empty() || std::exchange(waits_to_send_, true)) return true;
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                     [waiting = weak_from_this()](boost::system::error_code error) {
                       const auto self = waiting.lock();
                       if (error || !self || !self->socket_.is_open()) return;
                       self->waits_to_send_ = false;
                       (void)self->send_unsent();
                     });
  return true;
}

void ControlChannel::finish() {
  if (!socket_.is_open()) return;
  handlers_.close = nullptr;
  constexpr int reads_max = 4;  // more than such a socket holds of what ControlReader allows
  for (int i = 0; i < reads_max && read_once() == Left::more; ++i) continue;
  close();
}

void ControlChannel::close() {
  if (!socket_.is_open()) return;
  tell(reader_.finish());
  boost::system::error_code ignored;
  socket_.close(ignored);
  if (handlers_.close) handlers_.close();
}

}  // namespace ddprun
