// An agent's connections to other agents: resolves names, tries every address, shakes hands.
//
// Bounds
//   `patience` from the call of connect until the connection is up or down;
//   `unsent_bytes_max` for each; `addresses_max` of a name.
#pragma once

#include "rendezvous/membership/messages.hpp"
#include "rendezvous/patience.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/wire/connection_end.hpp"
#include "rendezvous/wire/credentials.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace ddprun {

constexpr std::size_t addresses_max = 64;

class AgentClient {
 public:
  /// They run on the thread of the context, never inside a call of the client's functions. They may
  /// call all of these, and must not destroy the client.
  struct Handlers {
    /// The coordinator has proven itself. `peer` is its address, with the port.
    std::function<void(ConnectionId, const std::string& peer)> on_up;
    std::function<void(ConnectionId, ToAgent)> on_message;
    /// Once for each connection, up or not, unless it was disconnected here.
    std::function<void(ConnectionId, const ConnectionEnd&)> on_down;
  };

  /// `context` must outlive the client.
  AgentClient(boost::asio::io_context& context,
              const Credentials& credentials,
              Handlers handlers,
              Millis patience = connect_patience);

  /// Closes everything; no handler is called any more.
  ~AgentClient();
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;

  /// Begins a connection to `host`, a name or an address. A name is looked up by a thread of Asio,
  /// which a call of the resolver that hangs may keep busy beyond `connect_patience`: then the
  /// context's destructor waits for it.
  void connect(ConnectionId connection, const std::string& host, std::uint16_t port);

  /// Does nothing where the connection is not up.
  void send(ConnectionId connection, const ToCoordinator& message);

  /// Ends it; no handler is called for it any more. What the kernel has not taken yet is lost.
  void disconnect(ConnectionId connection);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace ddprun
