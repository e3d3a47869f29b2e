#include "rendezvous/wire/agent_server.hpp"

#include "rendezvous/wire/frame_connection.hpp"
#include "rendezvous/wire/message_codec.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <sodium.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <utility>

namespace ddprun {

using boost::asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds accept_again_after(1);

std::chrono::milliseconds milliseconds(Millis duration) {
  return std::chrono::milliseconds(duration.count);
}

/// Passes on the first line at once, then one line in `stranger_notes_apart` for all that come.
class StrangerNotes : public std::enable_shared_from_this<StrangerNotes> {
 public:
  StrangerNotes(boost::asio::io_context& context, std::function<void(std::string)> on_note)
      : timer_(context), on_note_(std::move(on_note)) {}

  void add(std::string text) {
    if (quiet_) {
      ++untold_;
      newest_ = std::move(text);
      return;
    }
    on_note_(std::move(text));
    begin_quiet();
  }

 private:
  void begin_quiet() {
    quiet_ = true;
    timer_.expires_after(milliseconds(stranger_notes_apart));
    timer_.async_wait([weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (self && !error) self->end_quiet();
    });
  }
  void end_quiet() {
    quiet_ = false;
    if (untold_ == 0) return;
    on_note_(fmt::format("{} more were refused since; the last: {}", untold_, newest_));
    untold_ = 0;
    begin_quiet();
  }

  boost::asio::steady_timer timer_;
  std::function<void(std::string)> on_note_;
  bool quiet_ = false;
  std::size_t untold_ = 0;
  std::string newest_;
};

}  // namespace

class AgentServer::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(boost::asio::io_context& context,
       const Credentials& credentials,
       Handlers handlers,
       AgentServerLimits limits)
      : acceptor_(context),
        retry_(context),
        patience_(context),
        credentials_(credentials),
        handlers_(std::move(handlers)),
        limits_(limits),
        notes_(std::make_shared<StrangerNotes>(context, handlers_.on_note)) {}

  /// Of those that listen at one port at the same moment the kernel may refuse all: each is seen as
  /// listening before it is checked (inet_csk_listen_start). Whoever is refused so tries again; who
  /// cannot even bind has seen another that listens, or will try again.
  void listen(const std::string& address, std::uint16_t port) {
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

  /// Accepts by accept4 instead of async_accept, which knows no CLOEXEC.
  void wait_for_connections() {
    acceptor_.async_wait(tcp::acceptor::wait_read, [weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (self && !error) self->accept_all();
    });
  }

  void close() {
    error_code ignored;
    acceptor_.close(ignored);
    retry_.cancel();
    patience_.cancel();
    for (const auto& [id, session] : sessions_) session.connection->close();
    sessions_.clear();
    strangers_.clear();
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }

  void send(SessionId id, const ToAgent& message) {
    const auto found = sessions_.find(id);
    if (found != sessions_.end()) found->second.connection->send(encode(message));
  }

  void close(SessionId id) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    found->second.connection->close();
    sessions_.erase(found);
    strangers_.erase(id);
  }

 private:
  struct Session {
    std::shared_ptr<FrameConnection> connection;
    std::string peer;
    Clock::time_point deadline;  // of a stranger
  };

  void bind(const tcp::endpoint& endpoint) {
    acceptor_.open(endpoint.protocol());
    ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
    acceptor_.set_option(tcp::acceptor::reuse_address(true));  // after a start of our own
    if (endpoint.address().is_v6()) acceptor_.set_option(boost::asio::ip::v6_only(false));
    acceptor_.bind(endpoint);
  }

  void accept_all() {
    while (acceptor_.is_open()) {
      const int fd =
          ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      const int reason = errno;
      if (fd >= 0) {
        open_session(fd);
      } else if (reason == EAGAIN || (is_shortage(reason) && nobody_waits())) {
        return wait_for_connections();
      } else if (is_shortage(reason) && !strangers_.empty()) {
        dismiss_oldest(fmt::format("it was closed for the next one: {}", std::strerror(reason)));
      } else if (reason != EINTR && reason != ECONNABORTED) {
        return accept_later(reason);
      }
    }
  }

  static bool is_shortage(int reason) { return reason == EMFILE || reason == ENFILE; }

  /// accept4 looks for a free descriptor first, and only then whether it is needed.
  bool nobody_waits() {
    pollfd listener{acceptor_.native_handle(), POLLIN, 0};
    return ::poll(&listener, 1, 0) == 0;
  }

  /// Nothing can be freed: the kernel keeps the caller in its queue, ready for ever.
  void accept_later(int reason) {
    handlers_.on_note(fmt::format("cannot accept another agent: {}; trying again (ulimit -n?)",
                                  std::strerror(reason)));
    retry_.expires_after(accept_again_after);
    retry_.async_wait([weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (self && !error) self->accept_all();
    });
  }

  void open_session(int fd) {
    tcp::socket socket(acceptor_.get_executor());
    socket.assign(acceptor_.local_endpoint().protocol(), fd);
    error_code error;
    const tcp::endpoint endpoint = socket.remote_endpoint(error);
    if (error) return;  // it has gone already
    const std::string peer = endpoint_name(address_text(endpoint.address()), endpoint.port());
    if (sessions_.size() >= limits_.connections_max) {
      return notes_->add(
          fmt::format("a connection from {}: there are {} already", peer, sessions_.size()));
    }
    if (strangers_.size() >= limits_.strangers_max) {
      dismiss_oldest("it had not proven itself when too many others came");
    }
    Nonce nonce{};
    randombytes_buf(nonce.data(), nonce.size());
    const SessionId id = ++newest_session_;
    strangers_.insert(id);
    sessions_[id] = {
        FrameConnection::start(std::move(socket),
                               SecureChannel(Side::coordinator, credentials_, nonce, peer),
                               handlers_of(id)),
        peer,
        Clock::now() + milliseconds(limits_.stranger_patience)};
    if (strangers_.size() == 1) wait_for_patience();
  }

  FrameHandlers handlers_of(SessionId id) {
    return {[weak = weak_from_this(), id] {
              if (const auto self = weak.lock()) self->strangers_.erase(id);
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
    patience_.expires_at(sessions_.at(*strangers_.begin()).deadline);
    patience_.async_wait([weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (self && !error) self->dismiss_overdue();
    });
  }

  void dismiss_overdue() {
    const Clock::time_point now = Clock::now();
    while (!strangers_.empty() && sessions_.at(*strangers_.begin()).deadline <= now) {
      dismiss_oldest(
          fmt::format("it had not proven itself after {} ms", limits_.stranger_patience.count));
    }
    wait_for_patience();
  }

  void dismiss_oldest(const std::string& why) {
    const SessionId id = *strangers_.begin();
    notes_->add(fmt::format("a connection from {}: {}", sessions_.at(id).peer, why));
    close(id);
  }

  void on_message(SessionId id, const std::string& bytes) {
    Result<ToCoordinator> message = decode_to_coordinator(bytes);
    if (message) return handlers_.on_message(id, std::move(*message));
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    handlers_.on_note(
        fmt::format("a connection from {}: {}", found->second.peer, message.error().message()));
    close(id);
    handlers_.on_closed(id);
  }

  void on_end(SessionId id, const ConnectionEnd& end) {
    const bool stranger = strangers_.contains(id);
    close(id);
    if (stranger) return notes_->add(end.why.message());
    if (end.kind != ConnectionEnd::Kind::lost) handlers_.on_note(end.why.message());
    handlers_.on_closed(id);
  }

  tcp::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  boost::asio::steady_timer patience_;
  Credentials credentials_;
  Handlers handlers_;
  AgentServerLimits limits_;
  std::shared_ptr<StrangerNotes> notes_;
  std::uint16_t port_ = 0;
  SessionId newest_session_ = 0;
  std::map<SessionId, Session> sessions_;
  std::set<SessionId> strangers_;  // of the sessions, oldest first
};

Result<std::unique_ptr<AgentServer>> AgentServer::listen(boost::asio::io_context& context,
                                                         const std::string& address,
                                                         std::uint16_t port,
                                                         const Credentials& credentials,
                                                         Handlers handlers,
                                                         AgentServerLimits limits) {
  auto impl = std::make_shared<Impl>(context, credentials, std::move(handlers), limits);
  try {
    impl->listen(address, port);
  } catch (const boost::system::system_error& error) {
    return Error(ExitStatus::system_refused,
                 fmt::format("cannot listen for agents on {}", endpoint_name(address, port)),
                 error.code().message(),
                 "check address and port");
  }
  impl->wait_for_connections();
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
