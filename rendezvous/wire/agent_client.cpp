#include "rendezvous/wire/agent_client.hpp"

#include "rendezvous/endpoint_text.hpp"
#include "rendezvous/wire/frame_connection.hpp"
#include "rendezvous/wire/message_codec.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

namespace ddprun {

using boost::asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

/// One connection, from the call of connect to its end.
struct Line {
  Line(boost::asio::io_context& context, std::string host_name, std::uint16_t port_number)
      : host(std::move(host_name)),
        port(port_number),
        resolver(context),
        socket(context),
        patience(context) {}
  std::string host;
  std::uint16_t port;
  tcp::resolver resolver;
  std::vector<tcp::endpoint> endpoints;
  std::size_t tried = 0;                        // of the endpoints
  tcp::socket socket;                           // while it connects
  std::shared_ptr<FrameConnection> connection;  // from then on
  boost::asio::steady_timer patience;           // of the endpoint that is tried
  Clock::time_point deadline;                   // of all of them
  bool up = false;
  ConnectionEnd last;            // of the endpoint before
  std::vector<std::string> all;  // of those before, for people
};

ConnectionEnd lost(const std::string& peer, std::string why, std::string fix = "") {
  return {ConnectionEnd::Kind::lost,
          Error(ExitStatus::rendezvous_unavailable, "the coordinator at " + peer, why, fix)};
}

/// "n1:29400 (10.0.0.1)", or without the address where that is the name.
std::string peer_name(const Line& line, const tcp::endpoint& endpoint) {
  const std::string name = endpoint_text(line.host, line.port);
  const std::string address = address_text(endpoint.address());
  return address == line.host ? name : fmt::format("{} ({})", name, address);
}

/// Of a name with several addresses, what became of each: the last one may be the least telling.
ConnectionEnd end_of_all(const Line& line) {
  constexpr std::size_t told_max = 8;
  if (line.all.size() <= 1) return line.last;
  std::string why;
  for (std::size_t i = 0; i < std::min(line.all.size(), told_max); ++i) {
    why += (i == 0 ? "" : "; ") + line.all[i];
  }
  if (line.all.size() > told_max) why += fmt::format("; {} more", line.all.size() - told_max);
  return {line.last.kind, Error(ExitStatus::rendezvous_unavailable, why, "", "")};
}

error_code open_socket(tcp::socket& socket, const tcp::endpoint& endpoint) {
  error_code error;
  if (socket.is_open()) socket.close(error);
  const int fd = ::socket(
      endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
  if (fd < 0) return {errno, boost::system::system_category()};
  socket.assign(endpoint.protocol(), fd, error);
  return error;
}

}  // namespace

class AgentClient::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(boost::asio::io_context& context,
       const Credentials& credentials,
       Handlers handlers,
       Millis patience)
      : context_(context),
        credentials_(credentials),
        handlers_(std::move(handlers)),
        patience_(patience.count) {}

  void connect(ConnectionId id, const std::string& host, std::uint16_t port) {
    disconnect(id);
    const auto line = std::make_shared<Line>(context_, host, port);
    lines_[id] = line;
    line->deadline = Clock::now() + patience_;
    line->last = lost(endpoint_text(host, port), "its name has no address");
    error_code error;
    const auto address = boost::asio::ip::make_address(host, error);
    if (!error) {
      line->endpoints.emplace_back(address, port);
      boost::asio::post(context_, [weak = weak_from_this(), id, line] {
        const auto self = weak.lock();
        if (self && self->lives(id, line)) self->try_next(id, line);
      });
      return;
    }
    resolve(id, line);
  }

  void send(ConnectionId id, const ToCoordinator& message) {
    const auto found = lines_.find(id);
    if (found != lines_.end() && found->second->up)
      found->second->connection->send(encode(message));
  }

  void disconnect(ConnectionId id) {
    const auto found = lines_.find(id);
    if (found == lines_.end()) return;
    close(*found->second);
    lines_.erase(found);
  }

  void disconnect_all() {
    for (const auto& [id, line] : lines_) close(*line);
    lines_.clear();
  }

 private:
  using LinePtr = std::shared_ptr<Line>;

  static void close(Line& line) {
    error_code ignored;
    line.resolver.cancel();
    line.socket.close(ignored);
    line.patience.cancel();
    if (line.connection) line.connection->close();
  }

  /// Whether `line` is still the connection of that number: handlers of an earlier one may come
  /// late.
  [[nodiscard]] bool lives(ConnectionId id, const LinePtr& line) const {
    const auto found = lines_.find(id);
    return found != lines_.end() && found->second == line;
  }

  void resolve(ConnectionId id, const LinePtr& line) {
    const auto on_resolved = [weak = weak_from_this(), id, line](
                                 error_code error, const tcp::resolver::results_type& results) {
      const auto self = weak.lock();
      if (!self || !self->lives(id, line) || !line->endpoints.empty()) return;
      if (error) line->last = lost(endpoint_text(line->host, line->port), error.message());
      for (const auto& each : results) {
        if (line->endpoints.size() < addresses_max) line->endpoints.push_back(each.endpoint());
      }
      self->try_next(id, line);
    };
    line->resolver.async_resolve(
        line->host, std::to_string(line->port), tcp::resolver::numeric_service, on_resolved);
    wait_until(line->deadline, line, [weak = weak_from_this(), id, line] {
      const auto self = weak.lock();
      if (!self || !self->lives(id, line) || !line->endpoints.empty()) return;
      self->down(id,
                 lost(endpoint_text(line->host, line->port),
                      fmt::format("its name was not resolved in {} ms", self->patience_.count())));
    });
  }

  template <typename Handler>
  static void wait_until(Clock::time_point at, const LinePtr& line, Handler handler) {
    line->patience.expires_at(at);
    line->patience.async_wait([handler = std::move(handler)](error_code error) {
      if (!error) handler();
    });
  }

  /// The next address, for an equal part of the time that is left.
  void try_next(ConnectionId id, const LinePtr& line) {
    if (line->connection) line->connection->close();
    line->connection = nullptr;
    const Clock::time_point now = Clock::now();
    if (line->tried > 0) line->all.push_back(line->last.why.message());
    if (line->tried == line->endpoints.size() || now >= line->deadline) {
      return down(id, end_of_all(*line));
    }
    const tcp::endpoint endpoint = line->endpoints[line->tried];
    const auto left = static_cast<int>(line->endpoints.size() - line->tried);
    const std::size_t attempt = ++line->tried;
    line->last = lost(peer_name(*line, endpoint), "it did not answer in time");
    wait_until(
        now + (line->deadline - now) / left, line, [weak = weak_from_this(), id, line, attempt] {
          const auto self = weak.lock();
          if (self && self->lives(id, line) && !line->up && line->tried == attempt) {
            self->try_next(id, line);
          }
        });
    if (const error_code error = open_socket(line->socket, endpoint)) {
      line->last = lost(peer_name(*line, endpoint), error.message(), "check ulimit -n");
      return try_next(id, line);
    }
    line->socket.async_connect(endpoint,
                               [weak = weak_from_this(), id, line, attempt](error_code error) {
                                 const auto self = weak.lock();
                                 if (!self || !self->lives(id, line) || line->tried != attempt)
                                   return;
                                 self->on_connected(id, line, error);
                               });
  }

  void on_connected(ConnectionId id, const LinePtr& line, error_code error) {
    const tcp::endpoint& endpoint = line->endpoints[line->tried - 1];
    const std::string peer = peer_name(*line, endpoint);
    if (error) {
      line->last = lost(peer, error.message());
      return try_next(id, line);
    }
    line->connection = FrameConnection::start(
        std::move(line->socket),
        SecureChannel(Side::agent, credentials_, random_ephemeral_key(), peer),
        handlers_of(id, line, line->tried));
  }

  FrameHandlers handlers_of(ConnectionId id,
                            const std::weak_ptr<Line>& weak_line,
                            std::size_t attempt) {
    const auto guarded = [weak = weak_from_this(), id, weak_line, attempt](const auto& action) {
      const auto self = weak.lock();
      const auto line = weak_line.lock();
      if (self && line && self->lives(id, line) && line->tried == attempt) action(*self, line);
    };
    return {
        [=] { guarded([=](Impl& self, const LinePtr& line) { self.on_established(id, line); }); },
        [=](const std::string& bytes) {
          guarded([&](Impl& self, const LinePtr&) { self.on_message(id, bytes); });
        },
        [=](const ConnectionEnd& end) {
          guarded([&](Impl& self, const LinePtr& line) { self.on_end(id, line, end); });
        }};
  }

  void on_established(ConnectionId id, const LinePtr& line) const {
    line->up = true;
    line->patience.cancel();
    const tcp::endpoint& endpoint = line->endpoints[line->tried - 1];
    handlers_.on_up(id, endpoint_text(address_text(endpoint.address()), endpoint.port()));
  }

  void on_message(ConnectionId id, const std::string& bytes) {
    Result<ToAgent> message = decode_to_agent(bytes);
    if (message) return handlers_.on_message(id, std::move(*message));
    down(id, {ConnectionEnd::Kind::fault, message.error()});
  }

  void on_end(ConnectionId id, const LinePtr& line, const ConnectionEnd& end) {
    if (line->up || end.kind == ConnectionEnd::Kind::incompatible) return down(id, end);
    line->last = end;
    try_next(id, line);
  }

  void down(ConnectionId id, const ConnectionEnd& end) {
    disconnect(id);
    handlers_.on_down(id, end);
  }

  boost::asio::io_context& context_;
  Credentials credentials_;
  Handlers handlers_;
  std::chrono::milliseconds patience_;
  std::map<ConnectionId, LinePtr> lines_;
};

AgentClient::AgentClient(boost::asio::io_context& context,
                         const Credentials& credentials,
                         Handlers handlers,
                         Millis patience)
    : impl_(std::make_shared<Impl>(context, credentials, std::move(handlers), patience)) {}
AgentClient::~AgentClient() {
  impl_->disconnect_all();
}
void AgentClient::connect(ConnectionId connection, const std::string& host, std::uint16_t port) {
  impl_->connect(connection, host, port);
}
void AgentClient::send(ConnectionId connection, const ToCoordinator& message) {
  impl_->send(connection, message);
}
void AgentClient::disconnect(ConnectionId connection) {
  impl_->disconnect(connection);
}

}  // namespace ddprun
