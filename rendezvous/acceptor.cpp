#include "rendezvous/acceptor.hpp"

#include <boost/asio/ip/v6_only.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace ddprun {

using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::seconds accept_again_after(1);
constexpr int accepts_max = 16;  // before other work of the thread has its turn

bool is_shortage(int reason) {
  return reason == EMFILE || reason == ENFILE;
}

}  // namespace

/// If several processes listen at one port at the same moment, the kernel may refuse all: each
/// counts as listening before it is checked (inet_csk_listen_start). A process refused so tries
/// again; one that cannot bind has met another that listens, or will try again.
Acceptor::Acceptor(boost::asio::io_context& context,
                   const std::string& address,
                   std::uint16_t port,
                   Handlers handlers)
    : acceptor_(context), retry_(context), handlers_(std::move(handlers)) {
  constexpr int attempts_max = 100;
  const tcp::endpoint endpoint(boost::asio::ip::make_address(address), port);
  error_code refused;
  for (int i = 0; i < attempts_max; ++i) {
    bind(endpoint);
    acceptor_.listen(tcp::acceptor::max_listen_connections, refused);
    if (refused != boost::asio::error::address_in_use) break;
    acceptor_.close();
  }
  if (refused) throw boost::system::system_error(refused);
  acceptor_.non_blocking(true);
  port_ = acceptor_.local_endpoint().port();
}

void Acceptor::bind(const tcp::endpoint& endpoint) {
  acceptor_.open(endpoint.protocol());
  ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
  if (endpoint.port() != 0) {
    acceptor_.set_option(tcp::acceptor::reuse_address(true));  // after a start of our own
  }
  if (endpoint.address().is_v6()) acceptor_.set_option(boost::asio::ip::v6_only(false));
  acceptor_.bind(endpoint);
}

void Acceptor::close() {
  error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel();
}

/// Accepts by accept4 instead of async_accept, which does not set CLOEXEC.
void Acceptor::wait() {
  acceptor_.async_wait(tcp::acceptor::wait_read, [weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (self && !error) self->accept_all();
  });
}

void Acceptor::resume() {
  if (std::exchange(is_held_, false)) wait();
}

void Acceptor::accept_all() {
  for (int i = 0; i < accepts_max && acceptor_.is_open(); ++i) {
    is_held_ = handlers_.has_room && !handlers_.has_room();
    if (is_held_) return;
    const int fd =
        ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const int reason = errno;
    if (fd >= 0) {
      hand_over(fd);
    } else if (reason == EAGAIN || (is_shortage(reason) && nobody_waits())) {
      return wait();
    } else if (reason != EINTR && reason != ECONNABORTED) {
      const std::string why = std::strerror(reason);
      const bool has_room = is_shortage(reason) && handlers_.make_room && handlers_.make_room(why);
      if (!has_room) return accept_later(why);
    }
  }
  if (acceptor_.is_open()) wait();
}

/// accept4 looks for a free descriptor first, and only then whether it is needed.
bool Acceptor::nobody_waits() {
  pollfd listener{acceptor_.native_handle(), POLLIN, 0};
  return ::poll(&listener, 1, 0) == 0;
}

/// No descriptor can be freed: the kernel keeps the caller in its queue, always ready.
void Acceptor::accept_later(const std::string& why) {
  handlers_.on_pause(why + "; trying again (ulimit -n?)");
  retry_.expires_after(accept_again_after);
  retry_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (self && !error) self->accept_all();
  });
}

void Acceptor::hand_over(int fd) {
  tcp::socket socket(acceptor_.get_executor());
  error_code error;
  socket.assign(acceptor_.local_endpoint().protocol(), fd, error);
  if (error) {
    ::close(fd);
    return handlers_.on_pause(error.message());
  }
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return;  // it has gone already
  handlers_.on_connection(std::move(socket), peer);
}

}  // namespace ddprun
