// The coordinator's listening side: accepts connections, keeps those that prove to be of the job,
// and delivers their messages.
//
// A connection that has not proven itself yet, or has and said nothing since, is a stranger and
// costs only a descriptor; Strangers decides which of them goes for the next one. Until one may go,
// the next one waits in the kernel's queue. An agent needs one round trip, so it gets in even among
// many strangers, or among many agents that come at once.
//
// Bounds
//   `AgentServerLimits`; `unsent_bytes_max` for each session. Strangers, and connections that break
//   the protocol, cause at most one line in `stranger_notes_apart`.
#pragma once

#include "rendezvous/membership/messages.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/wire/credentials.hpp"
#include "rendezvous/wire/strangers.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace ddprun {

struct AgentServerLimits {
  std::size_t connections_max = 65'536;
  StrangerLimits strangers;  ///< Nor more of them than an eighth of the process's descriptors.
};

class AgentServer {
 public:
  /// They run on the thread of the context, never inside a call of the server's functions. They
  /// may call all of these, and must not destroy the server.
  struct Handlers {
    std::function<void(SessionId, ToCoordinator)> on_message;
    /// Of a session that has said something.
    std::function<void(SessionId)> on_closed;
    std::function<void(std::string)> on_note;  ///< One line for people.
  };

  /// Listens on `address` (IPv6 where it has a colon, both families for "::") at `port`, 0 for any
  /// that is free, from this call on. `context` must outlive the server. The error has the status
  /// rendezvous_unavailable where another process has the port, and system_refused otherwise.
  [[nodiscard]] static Result<std::unique_ptr<AgentServer>> listen(boost::asio::io_context& context,
                                                                   const std::string& address,
                                                                   std::uint16_t port,
                                                                   const Credentials& credentials,
                                                                   Handlers handlers,
                                                                   AgentServerLimits limits = {});

  /// Closes everything; no handler is called any more.
  ~AgentServer();
  AgentServer(const AgentServer&) = delete;
  AgentServer& operator=(const AgentServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;

  /// Does nothing where the session has ended.
  void send(SessionId session, const ToAgent& message);

  /// Ends it; no handler is called for it any more. What the kernel has not taken yet is lost.
  void close(SessionId session);

 private:
  class Impl;
  explicit AgentServer(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace ddprun
