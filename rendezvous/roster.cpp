#include "rendezvous/roster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace ddprun {

void Roster::on_event(Instant now, const RosterEvent& event, Actions& out) {
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

std::optional<Instant> Roster::next_deadline() const {
  return ticked_ + options_.times.heartbeat();
}

bool Roster::all_told() const {
  return std::ranges::all_of(peers_, [](const auto& entry) {
    return entry.second.lost || entry.second.outbox.unconfirmed().empty();
  });
}

void Roster::on(Instant now, const Received& received, Actions& out) {
  std::visit([&](const auto& message) { take(now, received.session, message, out); },
             received.message);
}

void Roster::on(Instant, const SessionClosed& closed, Actions&) {
  const auto found = speakers_.extract(closed.session);
  if (found.empty()) return;
  const auto peer = peers_.find(found.mapped().agent);
  if (peer != peers_.end() && peer->second.session == closed.session) peer->second.session = 0;
}

void Roster::on(Instant now, const Instruct& instruct, Actions& out) {
  const NodeId node = std::visit([](const auto& what) { return what.node; }, instruct.instruction);
  Peer* peer = living_on(node);
  if (peer == nullptr) return;
  const auto& numbered = peer->outbox.push(instruct.instruction);
  if (peer->outbox.unconfirmed().size() == 1) peer->sent = now;
  if (peer->session != 0) out.emplace_back(SendDown{peer->session, numbered});
}

/// A tick that comes late was held up with all messages that came meanwhile: those first.
void Roster::on(Instant now, const Timeout&, Actions& out) {
  const Millis interval = options_.times.heartbeat();
  const Millis late = now - (ticked_ + interval);
  if (late < Millis{0}) return;
  ticked_ = now;
  for (auto& [agent, peer] : peers_) {
    if (late > interval / 2) peer.patience_from = std::min(now, peer.patience_from + late);
    if (peer.lost || now - peer.patience_from < options_.times.dead_after) continue;
    peer.lost = true;
    peer.outbox = {};
    out.emplace_back(Report{
        NodeLost{peer.node,
                 fmt::format("silent for {:g} s",
                             static_cast<double>(options_.times.dead_after.count) / 1000.0)}});
  }
}

void Roster::take(Instant now, SessionId session, const Hello& hello, Actions& out) {
  const Incarnation& from = hello.from;
  Peer* peer = admit(now, session, hello, out);
  if (peer == nullptr) return;
  const bool is_from_before = hello.coordinator != 0 && hello.coordinator != options_.id;  // O5
  if (is_from_before || from.life < peer->life || (from.life == peer->life && peer->lost)) {
    speakers_[session] = {from.agent, from.life};
    out.emplace_back(SendDown{session, Forgotten{from}});
    return;
  }
  if (from.life > peer->life) {
    if (peer->life != 0 && !peer->lost) return;  // O1
    peer->life = from.life;
    peer->lost = false;
    peer->outbox = {};
    peer->inbox = {};
  }
  if (peer->session != 0 && peer->session != session) {
    out.emplace_back(CloseSession{peer->session, ""});
    speakers_.erase(peer->session);
  }
  speakers_[session] = {from.agent, from.life};
  peer->session = session;
  hear(now, *peer);
  resend(now, *peer, out);
}

void Roster::take(Instant now, SessionId session, const Heartbeat& heartbeat, Actions& out) {
  Peer* peer = speaker(session, out);
  if (peer == nullptr) return;
  hear(now, *peer);
  peer->outbox.confirm(heartbeat.received);
  if (now - peer->sent >= options_.times.heartbeat()) resend(now, *peer, out);
  out.emplace_back(SendDown{
      session, Ack{options_.id, heartbeat.number, peer->inbox.newest(), options_.times.lease()}});
}

void Roster::take(Instant now, SessionId session, const Numbered<News>& news, Actions& out) {
  Peer* peer = speaker(session, out);
  if (peer == nullptr || !peer->inbox.accept(news.number)) return;
  hear(now, *peer);
  std::visit(
      [&](auto told) {
        if constexpr (std::is_same_v<decltype(told), Join>) told.offer.node = peer->node;
        out.emplace_back(Report{std::move(told)});
      },
      news.message);
}

/// Who speaks in `session`; null, and told so, when that life is over.
Roster::Peer* Roster::speaker(SessionId session, Actions& out) {
  const auto found = speakers_.find(session);
  if (found == speakers_.end()) return nullptr;
  const auto [agent, life] = found->second;
  const auto peer = peers_.find(agent);
  if (peer != peers_.end() && peer->second.life == life && !peer->second.lost) return &peer->second;
  out.emplace_back(SendDown{session, Forgotten{{agent, life}}});
  return nullptr;
}

Roster::Peer* Roster::living_on(NodeId node) {
  const auto place = places_.find(node);
  if (place == places_.end()) return nullptr;
  const auto peer = peers_.find(place->second);
  return peer == peers_.end() || peer->second.lost ? nullptr : &peer->second;
}

/// The agent's entry, a new one if there is a place for it; null otherwise.
Roster::Peer* Roster::admit(Instant now, SessionId session, const Hello& hello, Actions& out) {
  if (const auto known = peers_.find(hello.from.agent); known != peers_.end()) {
    return &known->second;
  }
  if (peers_.size() >= options_.agents_max) {
    refuse(session, {"there are too many agents already", {}}, out);
    return nullptr;
  }
  if (hello.nodes_min != options_.nodes_min || hello.nodes_max != options_.nodes_max) {
    refuse(session,
           {fmt::format("{} was started with --nnodes {}:{}, the coordinator with {}:{}",
                        hello.host,
                        hello.nodes_min,
                        hello.nodes_max,
                        options_.nodes_min,
                        options_.nodes_max),
            {}},
           out);
    return nullptr;
  }
  if (hello.dead_after != options_.times.dead_after) {
    refuse(session,
           {fmt::format("{} was started with --dead-after {:g}s, the coordinator with {:g}s",
                        hello.host,
                        static_cast<double>(hello.dead_after.count) / 1000.0,
                        static_cast<double>(options_.times.dead_after.count) / 1000.0),
            {}},
           out);
    return nullptr;
  }
  const NodeId node = hello.node.value_or(next_place());
  if (node == options_.own_node) {
    refuse(session,
           {fmt::format("{} asks for the place of the coordinator's own node", hello.host), {}},
           out);
    return nullptr;
  }
  if (const Peer* holder = living_on(node); holder != nullptr) {  // O4
    refuse(session,
           {fmt::format("{} asks for the place of node {}, which {} has",
                        hello.host,
                        node.value,
                        holder->host),
            now - holder->heard},
           out);
    return nullptr;
  }
  if (const auto place = places_.find(node); place != places_.end()) peers_.erase(place->second);
  places_[node] = hello.from.agent;
  Peer& peer = peers_[hello.from.agent];
  peer.node = node;
  peer.host = hello.host;
  return &peer;
}

void Roster::hear(Instant now, Peer& peer) {
  peer.heard = now;
  peer.patience_from = now;
}

void Roster::refuse(SessionId session, Refused refusal, Actions& out) {
  out.emplace_back(SendDown{session, refusal});
  out.emplace_back(CloseSession{session, std::move(refusal.why)});
}

NodeId Roster::next_place() const {
  const NodeId last = places_.empty() ? options_.own_node : places_.rbegin()->first;
  return NodeId{std::max(last, options_.own_node).value + 1};
}

void Roster::resend(Instant now, Peer& peer, Actions& out) {
  peer.sent = now;
  if (peer.session == 0) return;
  for (const auto& numbered : peer.outbox.unconfirmed()) {
    out.emplace_back(SendDown{peer.session, numbered});
  }
}

}  // namespace ddprun
