// Whom the store lets in: connections that are admitted, held until their user is known, or turned
// away; and who makes room for another.
#include "rendezvous/descriptors_max.hpp"
#include "rendezvous/endpoint_text.hpp"
#include "rendezvous/keep_alive.hpp"
#include "rendezvous/store/store_service.hpp"

#include <fmt/format.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace ddprun {

using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t first_request_bytes = 1024;  // so much room has whoever is let in

// A client that says nothing may wait for a key for hours. Its machine is given up after 16 minutes
// without an answer, as long as the kernel goes on sending to one (tcp_retries2 in tcp(7)).
constexpr KeepAlive client_is_there{.idle_s = 60, .probe_s = 60, .probes_max = 15};

/// How many connections the process can hold for the store: half of its descriptors are for
/// workers, and for the job's other nodes.
std::size_t connections_max() {
  return std::min(sessions_max, descriptors_max(2 * sessions_max) / 2);
}

/// Nothing for a socket that is gone.
std::optional<IpEndpoint> ip_endpoint(const tcp::endpoint& endpoint) {
  const auto address = parse_ip_address(endpoint.address().to_string());
  if (!address) return std::nullopt;
  return IpEndpoint{*address, endpoint.port()};
}

/// Whether the other side has neither closed nor reset it.
bool is_established(tcp::socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  const int failed = ::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size);
  return failed == 0 && info.tcpi_state == TCP_ESTABLISHED;
}

}  // namespace

void StoreService::meet(tcp::socket socket, const tcp::endpoint& peer) {
  error_code error;
  const auto local = ip_endpoint(socket.local_endpoint(error));
  const auto remote = ip_endpoint(peer);
  if (!local || !remote) return;
  const std::string objection = admission_.objection(*local, *remote);
  if (!objection.empty()) return turn_away({*local, *remote}, objection);
  const bool may_be_anothers = admission_.goes_by_user(remote->address) && !is_established(socket);
  if (may_be_anothers) return statistics_.on_refused();
  if (admission_.is_another_nodes(remote->address))
    return hold(std::move(socket), {*local, *remote});
  open_session(std::move(socket), *remote);
}

void StoreService::hold(tcp::socket socket, const IpConnection& connection) {
  if (!has_place()) return;
  const SessionId id = ++newest_session_;
  held_.emplace(id.value, Held{std::move(socket), connection, StoreCharge(budget_, session_bytes)});
  ledger_.on_held(id, connection.peer.address);
  questions_.ask(id, connection);
}

std::optional<StoreService::Held> StoreService::let_go(SessionId held) {
  auto found = held_.extract(held.value);
  if (found.empty()) return std::nullopt;
  ledger_.on_let_go(held, found.mapped().connection.peer.address);
  return std::move(found.mapped());
}

/// As in meet(), the answer is about whoever had that port when it was given. If this connection
/// has ended by then, that may be another process: its user answers for none of the bytes here.
void StoreService::judge(SessionId held, const std::string& objection) {
  auto judged = let_go(held);
  if (!judged) return;
  if (!is_established(judged->socket)) return statistics_.on_refused();
  if (!objection.empty()) return turn_away(judged->connection, objection);
  open_session(std::move(judged->socket), judged->connection.peer);
}

bool StoreService::has_place() {
  const bool has_descriptor =
      sessions_.size() + held_.size() < connections_max() || close_one_for_another();
  const auto fits = [this] { return budget_.has_room(session_bytes + first_request_bytes); };
  if (has_descriptor && (make_room(fits) || (close_one_for_another() && fits()))) return true;
  statistics_.on_refused();
  notes_->add(has_descriptor
                  ? shortage("store: one more connection was refused")
                  : fmt::format("store: {} connections; one more was refused (ulimit -n?)",
                                sessions_.size() + held_.size()));
  return false;
}

void StoreService::open_session(tcp::socket socket, const IpEndpoint& peer) {
  error_code error;
  if (!has_place()) return;
  socket.set_option(tcp::no_delay(true), error);
  keep_alive(socket.native_handle(), client_is_there);
  const SessionId id = ++newest_session_;
  const auto [entry, is_new] =
      sessions_.emplace(id.value, Session(StoreSocket(Fd(socket.release(error))), peer, budget_));
  if (error || !sockets_.watch(id, entry->second.socket)) {
    sessions_.erase(entry);
    statistics_.on_refused();
    return notes_->add("store: the kernel has no room for one more connection");
  }
  statistics_.on_connected();
  ledger_.on_opened(id, peer.address);
  wait_for_bytes(id);
}

bool StoreService::close_one_for_another() {
  if (const auto held = ledger_.most_crowded()) {
    questions_.forget(*held);
    statistics_.on_refused();
    notes_->add(
        fmt::format("store: {}: closed before it was known whose it is, since connections or "
                    "memory are short",
                    text_of(let_go(*held)->connection.peer.address)));
    return true;
  }
  const auto silent = ledger_.oldest_silent();
  if (silent) refuse(*silent, "it has said nothing, and connections or memory are short");
  return silent.has_value();
}

void StoreService::turn_away(const IpConnection& connection, const std::string& objection) {
  statistics_.on_refused();
  const auto said = admission_.refuse(connection.local, connection.peer, objection);
  if (said) on_note_(*said);
}

}  // namespace ddprun
