// A listening socket, and the loop that takes connections from it, for the coordinator and for the
// workers' store. If descriptors have run out it waits without spinning, and goes on.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ddprun {

class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Endpoint = boost::asio::ip::tcp::endpoint;

  /// They run on the thread of the context, never inside a call of the acceptor's functions, and
  /// may close it.
  struct Handlers {
    std::function<void(Socket, const Endpoint& peer)> on_connection;
    /// Whether one more may come now; null: always. Otherwise nothing is accepted until `resume`.
    std::function<bool()> has_room;
    /// There is no descriptor for the next connection, for this reason. Returns whether one was
    /// freed; null: none can be.
    std::function<bool(const std::string& why)> make_room;
    /// Nothing is accepted for a while, for this reason.
    std::function<void(const std::string& why)> on_pause;
  };

  /// Listens on `address` (both families for "::") at `port`, 0 for any that is free, from this
  /// call on. Who connects waits in the kernel's queue until `start`. Throws a
  /// boost::system::system_error. `context` must outlive the acceptor.
  Acceptor(boost::asio::io_context& context,
           const std::string& address,
           std::uint16_t port,
           Handlers handlers);

  /// Takes connections from now on. Call once.
  void start() { wait(); }

  /// There may be room again, where there was none.
  void resume();

  /// No handler is called any more.
  void close();

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void bind(const Endpoint& endpoint);
  void wait();
  void accept_all();
  [[nodiscard]] bool nobody_waits();
  void accept_later(const std::string& why);
  void hand_over(int fd);

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  Handlers handlers_;
  std::uint16_t port_ = 0;
  bool is_held_ = false;  // there is no room
};

}  // namespace ddprun
