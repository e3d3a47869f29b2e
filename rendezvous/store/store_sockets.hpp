// The sockets of a store's clients. Each is registered once with an epoll of the store's own, which
// tells of each change to readable or writable once (EPOLLET, see epoll(7)); Asio takes a system
// call for each wait.
//
// Bounds
//   `events_max` sockets in a turn; then other work of the thread has its turn.
#pragma once

#include "rendezvous/fd.hpp"
#include "rendezvous/units.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace ddprun {

/// A connection that never blocks.
class StoreSocket {
 public:
  explicit StoreSocket(Fd connected) : descriptor_(std::move(connected)) {}

  /// How many bytes have come, or were taken; 0: none now, or the connection has ended.
  [[nodiscard]] std::size_t read(std::span<char> into, bool& has_ended) const;
  [[nodiscard]] std::size_t write(std::span<iovec> pieces, bool& has_ended) const;

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  Fd descriptor_;
};

class StoreSockets {
 public:
  static constexpr int events_max = 128;

  struct Ready {
    SessionId session;
    bool to_read = false;
    bool to_write = false;
    bool has_ended = false;  ///< The other side sends no more: a read finds the end.
  };
  using OnReady = std::function<void(const Ready&)>;

  /// `on_ready` runs on the thread of `context`. Throws a
  /// boost::system::system_error.
  StoreSockets(boost::asio::io_context& context, OnReady on_ready);

  /// Until the socket's end. What is ready already is told as well. An event may still come for one
  /// that has just ended. False: the kernel has no room for it.
  [[nodiscard]] bool watch(SessionId session, const StoreSocket& socket);

 private:
  void wait();
  void tell();

  boost::asio::posix::stream_descriptor epoll_;
  OnReady on_ready_;
};

}  // namespace ddprun
