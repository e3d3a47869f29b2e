#include "rendezvous/wire/agent_server.hpp"

#include "rendezvous/acceptor.hpp"
#include "rendezvous/descriptors_max.hpp"
#include "rendezvous/endpoint_text.hpp"
#include "rendezvous/stranger_notes.hpp"
#include "rendezvous/wire/frame_connection.hpp"
#include "rendezvous/wire/message_codec.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

namespace ddprun {

using boost::asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

std::chrono::milliseconds milliseconds(Millis duration) {
  return std::chrono::milliseconds(duration.count);
}

}  // namespace

class AgentServer::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(boost::asio::io_context& context,
       const Credentials& credentials,
       Handlers handlers,
       AgentServerLimits limits)
      : context_(context),
        patience_(context),
        room_(context),
        credentials_(credentials),
        handlers_(std::move(handlers)),
        limits_(limits),
        notes_(std::make_shared<StrangerNotes>(context, handlers_.on_note)) {}

  void listen(const std::string& address, std::uint16_t port) {
    Acceptor::Handlers handlers;
    handlers.on_connection = [this](tcp::socket socket, const tcp::endpoint& peer) {
      open_session(std::move(socket), peer);
    };
    handlers.has_room = [this] { return has_room(); };
    handlers.make_room = [this](const std::string& why) {
      if (strangers_.empty() && silent_.empty()) return false;
      dismiss(next_to_go(), "it was closed for the next one: " + why);
      return true;
    };
    handlers.on_pause = [this](const std::string& why) {
      notes_->add("cannot accept another agent: " + why);
    };
    acceptor_ = std::make_shared<Acceptor>(context_, address, port, std::move(handlers));
    acceptor_->start();
  }

  void close() {
    if (acceptor_) acceptor_->close();
    patience_.cancel();
    room_.cancel();
    for (const auto& [id, session] : sessions_) session.connection->close();
    sessions_.clear();
    strangers_.clear();
    silent_.clear();
  }

  [[nodiscard]] std::uint16_t port() const { return acceptor_->port(); }

  void send(SessionId id, const ToAgent& message) {
    const auto found = sessions_.find(id);
    if (found != sessions_.end()) found->second.connection->send(encode(message));
  }

  void close(SessionId id) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    found->second.connection->close();
    sessions_.erase(found);
    forget_stranger(id);
  }

 private:
  struct Session {
    std::shared_ptr<FrameConnection> connection;
    std::string peer;
    Clock::time_point began;
  };

  void open_session(tcp::socket socket, const tcp::endpoint& endpoint) {
    const std::string peer = endpoint_text(address_text(endpoint.address()), endpoint.port());
    if (sessions_.size() >= limits_.connections_max) {
      return notes_->add(
          fmt::format("a connection from {}: there are {} already", peer, sessions_.size()));
    }
    const SessionId id = ++newest_session_;
    strangers_.insert(id);
    sessions_[id] = {
        FrameConnection::start(
            std::move(socket),
            SecureChannel(Side::coordinator, credentials_, random_ephemeral_key(), peer),
            handlers_of(id)),
        peer,
        Clock::now()};
    if (strangers_.size() == 1) wait_for_patience();
  }

  /// For one more stranger. If there is none, accepting goes on once a stranger has left.
  bool has_room() {
    if (strangers_.size() + silent_.size() < limits_.strangers_max) return true;
    const SessionId next = next_to_go();
    const Clock::time_point may_go = sessions_.at(next).began + milliseconds(limits_.stranger_time);
    if (may_go <= Clock::now()) {
      dismiss(next,
              fmt::format("it had {} when too many others connected",
                          strangers_.contains(next) ? "not authenticated" : "said nothing"));
      return true;
    }
    room_.expires_at(may_go);
    room_.async_wait([weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (self && !error) self->acceptor_->resume();
    });
    return false;
  }

  /// Who has proven nothing yet goes first.
  [[nodiscard]] SessionId next_to_go() const {
    return strangers_.empty() ? *silent_.begin() : *strangers_.begin();
  }

  void forget_stranger(SessionId id) {
    if (strangers_.erase(id) + silent_.erase(id) > 0) acceptor_->resume();
  }

  FrameHandlers handlers_of(SessionId id) {
    return {[weak = weak_from_this(), id] {
              if (const auto self = weak.lock()) self->on_proven(id);
            },
            [weak = weak_from_this(), id](const std::string& message) {
              if (const auto self = weak.lock()) self->on_message(id, message);
            },
            [weak = weak_from_this(), id](const ConnectionEnd& end) {
              if (const auto self = weak.lock()) self->on_end(id, end);
            }};
  }

  /// Until the oldest stranger's patience is over, whoever that is by then.
  void wait_for_patience() {
    if (strangers_.empty()) return;
    patience_.expires_at(overdue_at(*strangers_.begin()));
    patience_.async_wait([weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (self && !error) self->dismiss_overdue();
    });
  }

  [[nodiscard]] Clock::time_point overdue_at(SessionId stranger) const {
    return sessions_.at(stranger).began + milliseconds(limits_.stranger_patience);
  }

  void dismiss_overdue() {
    const Clock::time_point now = Clock::now();
    while (!strangers_.empty() && overdue_at(*strangers_.begin()) <= now) {
      dismiss(*strangers_.begin(),
              fmt::format("it had not authenticated after {} ms", limits_.stranger_patience.count));
    }
    wait_for_patience();
  }

  void dismiss(SessionId id, const std::string& why) {
    notes_->add(fmt::format("a connection from {}: {}", sessions_.at(id).peer, why));
    close(id);
  }

  /// A proof alone holds no place where places are short.
  void on_proven(SessionId id) {
    if (strangers_.erase(id) > 0) silent_.insert(id);
  }

  void on_message(SessionId id, const std::string& bytes) {
    Result<ToCoordinator> message = decode_to_coordinator(bytes);
    if (message) {
      forget_stranger(id);
      return handlers_.on_message(id, std::move(*message));
    }
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    notes_->add(
        fmt::format("a connection from {}: {}", found->second.peer, message.error().message()));
    end(id);
  }

  void on_end(SessionId id, const ConnectionEnd& why) {
    const bool is_lost = !strangers_.contains(id) && why.kind == ConnectionEnd::Kind::lost;
    if (!is_lost) notes_->add(why.why.message());
    end(id);
  }

  void end(SessionId id) {
    const bool was_heard = !strangers_.contains(id) && !silent_.contains(id);
    close(id);
    if (was_heard) handlers_.on_closed(id);
  }

  boost::asio::io_context& context_;
  std::shared_ptr<Acceptor> acceptor_;
  boost::asio::steady_timer patience_;
  boost::asio::steady_timer room_;
  Credentials credentials_;
  Handlers handlers_;
  AgentServerLimits limits_;
  std::shared_ptr<StrangerNotes> notes_;
  SessionId newest_session_;
  std::map<SessionId, Session> sessions_;
  std::set<SessionId> strangers_;  // of the sessions, oldest first
  std::set<SessionId> silent_;     // that have proven themselves and said nothing, likewise
};

Result<std::unique_ptr<AgentServer>> AgentServer::listen(boost::asio::io_context& context,
                                                         const std::string& address,
                                                         std::uint16_t port,
                                                         const Credentials& credentials,
                                                         Handlers handlers,
                                                         AgentServerLimits limits) {
  limits.strangers_max =
      std::min(limits.strangers_max, descriptors_max(limits.strangers_max * 8) / 8);
  auto impl = std::make_shared<Impl>(context, credentials, std::move(handlers), limits);
  try {
    impl->listen(address, port);
  } catch (const boost::system::system_error& error) {
    const bool is_taken = error.code() == boost::asio::error::address_in_use;
    return Error(is_taken ? ExitStatus::rendezvous_unavailable : ExitStatus::system_refused,
                 fmt::format("cannot listen for agents on {}", endpoint_text(address, port)),
                 error.code().message(),
                 is_taken ? "" : "check address and port");
  }
  return std::unique_ptr<AgentServer>(new AgentServer(std::move(impl)));
}

AgentServer::AgentServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
AgentServer::~AgentServer() {
  impl_->close();
}
std::uint16_t AgentServer::port() const {
  return impl_->port();
}
void AgentServer::send(SessionId session, const ToAgent& message) {
  impl_->send(session, message);
}
void AgentServer::close(SessionId session) {
  impl_->close(session);
}

}  // namespace ddprun
