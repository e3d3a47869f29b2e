#include "rendezvous/wire/frame_connection.hpp"

#include "rendezvous/keep_alive.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

namespace ddprun {

using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t read_bytes = 16 * 1024;

// A machine that is gone is given up two minutes after its last byte.
constexpr KeepAlive machine_is_there{.idle_s = 60, .probe_s = 10, .probes_max = 6};

bool would_block(const error_code& error) {
  return error == boost::asio::error::would_block || error == boost::asio::error::interrupted;
}

}  // namespace

FrameConnection::FrameConnection(tcp::socket socket, SecureChannel channel, FrameHandlers handlers)
    : socket_(std::move(socket)), channel_(std::move(channel)), handlers_(std::move(handlers)) {}

std::shared_ptr<FrameConnection> FrameConnection::start(tcp::socket socket,
                                                        SecureChannel channel,
                                                        FrameHandlers handlers) {
  const std::shared_ptr<FrameConnection> connection(
      new FrameConnection(std::move(socket), std::move(channel), std::move(handlers)));
  connection->begin();
  return connection;
}

void FrameConnection::begin() {
  error_code error;
  socket_.non_blocking(true, error);
  if (!error) socket_.set_option(tcp::no_delay(true), error);
  if (error) return end_lost(error.message());
  keep_alive(socket_.native_handle(), machine_is_there);
  channel_.start(outbox_);
  flush();
  wait_for_bytes();
}

void FrameConnection::wait_for_bytes() {
  if (ended_) return;
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
    if (!error) self->on_readable();
  });
}

void FrameConnection::on_readable() {
  if (ended_) return;
  std::array<char, read_bytes> buffer;
  error_code error;
  const std::size_t count = socket_.read_some(boost::asio::buffer(buffer), error);
  if (would_block(error)) return wait_for_bytes();
  if (error) {
    const bool closed = error == boost::asio::error::eof;
    return end_lost(closed ? "it closed the connection" : error.message());
  }
  const bool was_established = channel_.established();
  std::vector<std::string> messages;
  const Result<void> taken = channel_.receive({buffer.data(), count}, outbox_, messages);
  flush();
  if (!was_established && (channel_.established() || !messages.empty()) && !ended_) {
    handlers_.on_established();
  }
  for (std::string& message : messages) {
    if (ended_) return;
    handlers_.on_message(std::move(message));
  }
  if (taken) return wait_for_bytes();
  end(channel_.incompatible() ? ConnectionEnd::Kind::incompatible : ConnectionEnd::Kind::fault,
      taken.error());
}

void FrameConnection::send(std::string_view message) {
  if (ended_ || !channel_.established()) return;
  outbox_ += channel_.seal(message);
  flush();
  if (outbox_.size() <= unsent_bytes_max) return;
  end(ConnectionEnd::Kind::fault,
      channel_.error(fmt::format("it has left {} bytes unread", outbox_.size()), "it was closed"));
}

void FrameConnection::flush() {
  if (ended_ || writing_ || outbox_.empty()) return;
  error_code error;
  outbox_.erase(0, socket_.write_some(boost::asio::buffer(outbox_), error));
  if (error && !would_block(error)) return end_lost(error.message());
  if (outbox_.empty()) {
    outbox_ = {};  // its memory as well
    return;
  }
  writing_ = true;
  socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](error_code failed) {
    self->writing_ = false;
    if (!failed) self->flush();
  });
}

void FrameConnection::end_lost(const std::string& why) {
  end(ConnectionEnd::Kind::lost, channel_.error(why, ""));
}

/// The handler is called by the context, so that nobody who sends is called back from there.
void FrameConnection::end(ConnectionEnd::Kind kind, Error why) {
  if (ended_) return;
  ended_ = true;
  error_code ignored;
  socket_.close(ignored);
  boost::asio::post(socket_.get_executor(),
                    [self = shared_from_this(), end = ConnectionEnd{kind, std::move(why)}] {
                      if (!self->closed_) self->handlers_.on_end(end);
                    });
}

void FrameConnection::close() {
  closed_ = true;
  ended_ = true;
  error_code ignored;
  socket_.close(ignored);
}

std::string address_text(const boost::asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6())
        .to_string();
  }
  return address.to_string();
}

}  // namespace ddprun
