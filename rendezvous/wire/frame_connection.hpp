// One socket and its SecureChannel: moves sealed messages between this node and another.
//
// Bounds
//   `unsent_bytes_max` that the other side has not read; beyond it the connection ends. Received
//   messages are delivered at once.
#pragma once

#include "rendezvous/wire/connection_end.hpp"
#include "rendezvous/wire/secure_channel.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace ddprun {

constexpr std::size_t unsent_bytes_max = 4 * frame_bytes_max;

/// Of this connection alone. Handlers run on the thread of the socket's context, never inside a
/// call of FrameConnection's functions. One of them may close the connection.
struct FrameHandlers {
  std::function<void()> on_established;
  std::function<void(std::string)> on_message;
  std::function<void(const ConnectionEnd&)> on_end;  ///< Once; nothing comes after it.
};

class FrameConnection : public std::enable_shared_from_this<FrameConnection> {
 public:
  /// Takes over a connected socket and begins the handshake.
  [[nodiscard]] static std::shared_ptr<FrameConnection> start(boost::asio::ip::tcp::socket socket,
                                                              SecureChannel channel,
                                                              FrameHandlers handlers);

  /// Sends a message, as long as the connection is established and has not ended.
  void send(std::string_view message);

  /// Ends it without a call of a handler. What the kernel has not taken yet is lost.
  void close();

 private:
  FrameConnection(boost::asio::ip::tcp::socket socket,
                  SecureChannel channel,
                  FrameHandlers handlers);
  void begin();
  void wait_for_bytes();
  void on_readable();
  void flush();
  void end(ConnectionEnd::Kind kind, Error why);
  void end_lost(const std::string& why);

  boost::asio::ip::tcp::socket socket_;
  SecureChannel channel_;
  FrameHandlers handlers_;
  std::string outbox_;    // what the kernel has not taken yet
  bool writing_ = false;  // waits until the socket takes more
  bool ended_ = false;
  bool closed_ = false;
};

/// The address as text; an IPv4 address that was mapped into IPv6 as what it is.
[[nodiscard]] std::string address_text(const boost::asio::ip::address& address);

}  // namespace ddprun
