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
#include <cstddef>
#include <map>
#include <utility>

namespace ddprun {

using boost::asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

/// By the clock of its timers.
Instant timer_now() {
  const auto since = Clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

Clock::time_point time_point_of(Instant at) {
  return Clock::time_point(std::chrono::milliseconds(at.ms));
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
        connections_max_(limits.connections_max),
        strangers_(limits.strangers),
        notes_(std::make_shared<StrangerNotes>(context, handlers_.on_note)) {}

  void listen(const std::string& address, std::uint16_t port) {
    Acceptor::Handlers handlers;
    handlers.on_connection = [this](tcp::socket socket, const tcp::endpoint& peer) {
      open_session(std::move(socket), peer);
    };
    handlers.has_room = [this] { return has_room(); };
    handlers.make_room = [this](const std::string& why) {
      const auto next = strangers_.to_make_room(why);
      if (next) dismiss(*next);
      return next.has_value();
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
  };

  void open_session(tcp::socket socket, const tcp::endpoint& endpoint) {
    const std::string peer = endpoint_text(address_text(endpoint.address()), endpoint.port());
    if (sessions_.size() >= connections_max_) {
      return notes_->add(
          fmt::format("a connection from {}: there are {} already", peer, sessions_.size()));
    }
    const SessionId id = ++newest_session_;
    strangers_.on_opened(timer_now(), id);
    sessions_[id] = {
        FrameConnection::start(
            std::move(socket),
            SecureChannel(Side::coordinator, credentials_, random_ephemeral_key(), peer),
            handlers_of(id)),
        peer};
    if (!waits_for_patience_) wait_for_patience();
  }

  /// For one more stranger. If there is none, accepting goes on once a stranger has left.
  bool has_room() {
    if (!strangers_.are_full()) return true;
    if (const auto next = strangers_.crowded_out(timer_now())) {
      dismiss(*next);
      return true;
    }
    room_.expires_at(time_point_of(strangers_.room_at()));
    room_.async_wait([weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (self && !error) self->acceptor_->resume();
    });
    return false;
  }

  void forget_stranger(SessionId id) {
    if (strangers_.forget(id)) acceptor_->resume();
  }

  FrameHandlers handlers_of(SessionId id) {
    return {[weak = weak_from_this(), id] {
              if (const auto self = weak.lock()) self->strangers_.on_proven(id);
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
    const auto deadline = strangers_.next_deadline();
    waits_for_patience_ = deadline.has_value();
    if (!deadline) return;
    patience_.expires_at(time_point_of(*deadline));
    patience_.async_wait([weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (self && !error) self->dismiss_overdue();
    });
  }

  void dismiss_overdue() {
    const Instant at = timer_now();
    while (const auto next = strangers_.overdue(at)) dismiss(*next);
    wait_for_patience();
  }

  void dismiss(const Dismissal& next) {
    notes_->add(fmt::format("a connection from {}: {}", sessions_.at(next.id).peer, next.why));
    close(next.id);
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
    const bool is_lost =
        !strangers_.has_proven_nothing(id) && why.kind == ConnectionEnd::Kind::lost;
    if (!is_lost) notes_->add(why.why.message());
    end(id);
  }

  void end(SessionId id) {
    const bool was_heard = !strangers_.contain(id);
    close(id);
    if (was_heard) handlers_.on_closed(id);
  }

  boost::asio::io_context& context_;
  std::shared_ptr<Acceptor> acceptor_;
  boost::asio::steady_timer patience_;
  boost::asio::steady_timer room_;
  Credentials credentials_;
  Handlers handlers_;
  std::size_t connections_max_;
  Strangers strangers_;
  std::shared_ptr<StrangerNotes> notes_;
  SessionId newest_session_;
  std::map<SessionId, Session> sessions_;
  bool waits_for_patience_ = false;
};

Result<std::unique_ptr<AgentServer>> AgentServer::listen(boost::asio::io_context& context,
                                                         const std::string& address,
                                                         std::uint16_t port,
                                                         const Credentials& credentials,
                                                         Handlers handlers,
                                                         AgentServerLimits limits) {
  std::size_t& strangers_max = limits.strangers.count_max;
  strangers_max = std::min(strangers_max, descriptors_max(strangers_max * 8) / 8);
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
