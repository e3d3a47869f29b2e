#include "rendezvous/store/store_sockets.hpp"

#include <boost/system/system_error.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace ddprun {
namespace {

int new_epoll() {
  const int descriptor = ::epoll_create1(EPOLL_CLOEXEC);
  if (descriptor < 0) {
    const boost::system::error_code why(errno, boost::system::system_category());
    throw boost::system::system_error(why, "epoll_create1");
  }
  return descriptor;
}

/// Of a count of bytes, or -1 and errno.
std::size_t counted(ssize_t count, bool& has_ended) {
  if (count >= 0) return static_cast<std::size_t>(count);
  has_ended = errno != EAGAIN;
  return 0;
}

}  // namespace

std::size_t StoreSocket::read(std::span<char> into, bool& has_ended) const {
  const ssize_t count = ::recv(descriptor(), into.data(), into.size(), 0);
  has_ended = count == 0;
  return counted(count, has_ended);
}

std::size_t StoreSocket::write(std::span<iovec> pieces, bool& has_ended) const {
  has_ended = false;
  if (pieces.size() == 1) {  // most replies are; it costs less
    const iovec& only = pieces.front();
    return counted(::send(descriptor(), only.iov_base, only.iov_len, MSG_NOSIGNAL), has_ended);
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return counted(::sendmsg(descriptor(), &message, MSG_NOSIGNAL), has_ended);
}

StoreSockets::StoreSockets(boost::asio::io_context& context, OnReady on_ready)
    : epoll_(context, new_epoll()), on_ready_(std::move(on_ready)) {
  wait();
}

bool StoreSockets::watch(SessionId session, const StoreSocket& socket) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = static_cast<std::uint64_t>(session.value);
  return ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, socket.descriptor(), &event) == 0;
}

void StoreSockets::wait() {
  epoll_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this](boost::system::error_code error) {
                      if (!error) tell();
                    });
}

void StoreSockets::tell() {
  std::array<epoll_event, events_max> events;
  const int count = ::epoll_wait(epoll_.native_handle(), events.data(), events_max, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint32_t what = events[static_cast<std::size_t>(i)].events;
    const bool has_failed = (what & (EPOLLERR | EPOLLHUP)) != 0;
    Ready ready;
    ready.session.value = static_cast<std::int64_t>(events[static_cast<std::size_t>(i)].data.u64);
    ready.has_ended = has_failed || (what & EPOLLRDHUP) != 0;
    ready.to_read = ready.has_ended || (what & EPOLLIN) != 0;
    ready.to_write = has_failed || (what & EPOLLOUT) != 0;
    on_ready_(ready);
  }
  wait();
}

}  // namespace ddprun
