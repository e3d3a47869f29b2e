// Agents and a coordinator's server on real sockets of this machine.
#pragma once

#include "rendezvous/wire/agent_client.hpp"
#include "rendezvous/wire/agent_server.hpp"
#include "tests/unit/rendezvous/wire/secure_channel_kit.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::agent_wire {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::seconds test_patience(20);

/// Runs until `condition`, which is looked at after each event and now and then.
inline bool run_until(boost::asio::io_context& context, const auto& condition) {
  const auto deadline = std::chrono::steady_clock::now() + test_patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    context.restart();
    context.run_one_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// A server, what it has told, and agents.
class AgentWire {
 public:
  explicit AgentWire(AgentServerLimits limits = {},
                     const std::string& address = "127.0.0.1",
                     const Credentials& credentials = credentials_of()) {
    auto listening =
        AgentServer::listen(context,
                            address,
                            0,
                            credentials,
                            {[this](SessionId id, ToCoordinator message) {
                               heard.emplace_back(id, std::move(message));
                               if (on_heard) on_heard(id);
                             },
                             [this](SessionId id) { closed.push_back(id); },
                             [this](std::string note) { notes.push_back(std::move(note)); }},
                            limits);
    REQUIRE_MESSAGE(listening.has_value(), listening.error().message());
    server = std::move(*listening);
  }

  [[nodiscard]] bool until(const auto& condition) { return run_until(context, condition); }

  /// Connected by the kernel; whether the server has accepted it is another matter.
  tcp::socket dial() {
    tcp::socket socket(context);
    socket.connect({boost::asio::ip::make_address("127.0.0.1"), server->port()});
    return socket;
  }

  boost::asio::io_context context;
  std::unique_ptr<AgentServer> server;
  std::vector<std::pair<SessionId, ToCoordinator>> heard;
  std::function<void(SessionId)> on_heard;
  std::vector<SessionId> closed;
  std::vector<std::string> notes;
};

/// An agent's client and what it was told.
class WireAgent {
 public:
  explicit WireAgent(boost::asio::io_context& context,
                     const Credentials& credentials = credentials_of(),
                     Millis connect_within = connect_patience)
      : client(context,
               credentials,
               {[this](ConnectionId id, const std::string& coordinator) {
                  up.push_back(id);
                  peer = coordinator;
                },
                [this](ConnectionId, ToAgent message) { heard.push_back(std::move(message)); },
                [this](ConnectionId id, const ConnectionEnd& end) {
                  down.push_back(id);
                  ends.push_back(end);
                }},
               connect_within) {}

  std::vector<ConnectionId> up;
  std::vector<ConnectionId> down;
  std::string peer;  // of the newest connection
  std::vector<ToAgent> heard;
  std::vector<ConnectionEnd> ends;
  AgentClient client;
};

/// An agent whose every byte the test decides.
class BareAgent {
 public:
  explicit BareAgent(tcp::socket socket) : socket_(std::move(socket)) {
    socket_.non_blocking(true);
    write(end.heard());
  }

  void write(const std::string& bytes) {
    error_code ignored;
    boost::asio::write(socket_, boost::asio::buffer(bytes), ignored);
  }
  /// Reads what is there and answers it.
  void take() {
    std::array<char, 4'096> buffer{};
    error_code error;
    const std::size_t count = socket_.read_some(boost::asio::buffer(buffer), error);
    if (error == boost::asio::error::eof || error == boost::asio::error::connection_reset) {
      gone = true;
    }
    end.take({buffer.data(), count});
    write(end.heard());
  }
  bool established() {
    if (!end.channel.established()) take();
    return end.channel.established();
  }
  void close() { socket_.close(); }

  ChannelEnd end{Side::agent, credentials_of(), 1};
  bool gone = false;

 private:
  tcp::socket socket_;
};

inline bool at_end(tcp::socket& socket) {
  socket.non_blocking(true);
  std::array<char, 256> buffer{};
  error_code error;
  while (socket.read_some(boost::asio::buffer(buffer), error) > 0) continue;
  return error != boost::asio::error::would_block;
}

inline const ToCoordinator hello = Hello{{7, 1}, "n1", NodeId{0}};
inline const ToAgent ack = Ack{1, 2, Millis{3}};

}  // namespace ddprun::agent_wire
