#include "launcher/node/store_check.hpp"

#include "rendezvous/store/store_codec.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace ddprun {

using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds again_after{500};
constexpr std::uint32_t ping_nonce = 1;

}  // namespace

class StoreCheck::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(boost::asio::io_context& context,
       std::string host,
       std::uint16_t port,
       Millis patience,
       OnFailed on_failed)
      : host_(std::move(host)),
        port_(port),
        patience_(patience.count),
        on_failed_(std::move(on_failed)),
        resolver_(context),
        socket_(context),
        deadline_(context),
        pause_(context) {}

  void begin() {
    deadline_.expires_after(patience_);
    deadline_.async_wait(unless_over([](Impl& self) {
      const OnFailed on_failed = self.on_failed_;
      self.end();
      on_failed(self.why_);
    }));
    resolve();
  }

  void end() {
    over_ = true;
    resolver_.cancel();
    deadline_.cancel();
    pause_.cancel();
    close();
  }

 private:
  /// A handler that does nothing once the check is over, or if it was cancelled.
  std::function<void(error_code)> unless_over(void (*step)(Impl&)) {
    return [weak = weak_from_this(), step](error_code error) {
      const auto self = weak.lock();
      if (self && !self->over_ && error != boost::asio::error::operation_aborted) step(*self);
    };
  }

  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

  void resolve() {
    error_code no_address;
    const auto address = boost::asio::ip::make_address(host_, no_address);
    tried_ = 0;
    if (!no_address) {
      endpoints_ = {tcp::endpoint(address, port_)};
      return try_next();
    }
    const auto take = [weak = weak_from_this()](error_code error,
                                                const tcp::resolver::results_type& results) {
      const auto self = weak.lock();
      if (!self || self->over_) return;
      if (error) self->why_ = error.message();
      self->endpoints_.assign(results.begin(), results.end());
      self->try_next();
    };
    resolver_.async_resolve(host_, std::to_string(port_), tcp::resolver::numeric_service, take);
  }

  void try_next() {
    close();
    if (tried_ == endpoints_.size()) return try_again_later();
    const tcp::endpoint endpoint = endpoints_[tried_++];
    pause_.expires_after(patience_ / 4);
    pause_.async_wait(unless_over([](Impl& self) {
      self.why_ = "Connection timed out";
      self.try_next();
    }));
    const int fd = ::socket(
        endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    error_code error{errno, boost::system::system_category()};
    if (fd >= 0) socket_.assign(endpoint.protocol(), fd, error);
    if (fd < 0 || error) return fail(error);
    socket_.async_connect(endpoint, [weak = weak_from_this()](error_code refused) {
      const auto self = weak.lock();
      if (!self || self->over_ || refused == boost::asio::error::operation_aborted) return;
      refused ? self->fail(refused) : self->ask();
    });
  }

  void fail(error_code error) {
    why_ = error.message();
    pause_.cancel();
    try_next();
  }

  void try_again_later() {
    pause_.expires_after(again_after);
    pause_.async_wait(unless_over([](Impl& self) { self.resolve(); }));
  }

  /// The store may hold the connection until this node has told whose it is.
  void ask() {
    pause_.cancel();
    why_ = "it did not answer in time";
    error_code error;
    socket_.write_some(boost::asio::buffer(encode_ping(ping_nonce)), error);
    if (error) return fail(error);
    socket_.async_wait(tcp::socket::wait_read, unless_over([](Impl& self) { self.hear(); }));
  }

  /// The few bytes of the answer come together; any byte is enough.
  void hear() {
    std::array<char, sizeof ping_nonce> answer{};
    error_code error;
    const std::size_t count = socket_.read_some(boost::asio::buffer(answer), error);
    if (count > 0) return end();
    why_ = "the store closed the connection; this address may need --store-allow";
    try_next();
  }

  std::string host_;
  std::uint16_t port_;
  std::chrono::milliseconds patience_;
  OnFailed on_failed_;
  tcp::resolver resolver_;
  tcp::socket socket_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer pause_;  // for the current endpoint, or before all are tried again
  std::vector<tcp::endpoint> endpoints_;
  std::size_t tried_ = 0;
  std::string why_ = "it did not answer in time";  // the address may never be found
  bool over_ = false;
};

StoreCheck::StoreCheck(boost::asio::io_context& context,
                       const std::string& host,
                       std::uint16_t port,
                       Millis patience,
                       OnFailed on_failed)
    : impl_(std::make_shared<Impl>(context, host, port, patience, std::move(on_failed))) {
  impl_->begin();
}

StoreCheck::~StoreCheck() {
  impl_->end();
}

}  // namespace ddprun
