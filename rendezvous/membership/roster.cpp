#include "rendezvous/membership/roster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

namespace ddprun {

void Roster::on_event(Instant now, const RosterEvent& event, Actions& out) {
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

void Roster::inherit(Instant now, const Generation& record, Instant old_head_heard) {
  for (const Member& member : record.members) {
    const Offer& offer = member.offer;
    Peer peer;
    peer.node = offer.node;
    peer.host = offer.host;
    hear(offer.agent == record.voters.head ? old_head_heard : now, peer);
    peers_[offer.agent] = peer;
    places_[offer.node] = offer.agent;
  }
}

std::optional<Instant> Roster::next_deadline() const {
  return ticked_ + options_.times.heartbeat;
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
  Instruction instruction = instruct.instruction;
  if (auto* finish = std::get_if<FinishJob>(&instruction)) {
    finish->outcome.everywhere = now < lead_end_;
  }
  const auto& numbered = peer->outbox.push(std::move(instruction));
  if (peer->outbox.unconfirmed().size() == 1) peer->sent = now;
  if (peer->session != 0) out.emplace_back(SendDown{peer->session, numbered});
}

void Roster::on(Instant, const LeadChanged& lead, Actions&) {
  lead_end_ = lead.until;
  options_.leader.epoch = lead.epoch;
}

void Roster::on(Instant, const VotersChanged& changed, Actions& out) {
  voters_ = changed.voters;
  voters_of_ = changed.record;
  options_.leader = changed.leader;
  for (const auto& [agent, peer] : peers_) {
    if (peer.session != 0) out.emplace_back(SendDown{peer.session, changed});
  }
}

/// A tick that comes late was held up with all messages that came meanwhile: those first.
void Roster::on(Instant now, const Timeout&, Actions& out) {
  const Millis interval = options_.times.heartbeat;
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
  const bool is_known = hello.coordinator == options_.leader.agent && peer->life != 0;
  const bool is_from_before = hello.coordinator != 0 && !is_known;
  if (is_from_before || from.life < peer->life || (from.life == peer->life && peer->lost)) {  // O5
    speakers_[session] = {from.agent, from.life};
    out.emplace_back(SendDown{session, Forgotten{from, options_.leader}});
    return;
  }
  if (from.life > peer->life) {
    if (peer->life != 0 && !peer->lost) {  // O1: what it says here is not said by the life before
      speakers_.erase(session);
      if (peer->session == session) peer->session = 0;
      return;
    }
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
  peer->contact = hello.contact;
  out.emplace_back(SendDown{session, Welcome{options_.leader, peer->node, voters_, voters_of_}});
  resend(now, *peer, out);
}

void Roster::take(Instant now, SessionId session, const Heartbeat& heartbeat, Actions& out) {
  Peer* peer = speaker(session, out);
  if (peer == nullptr) return;
  hear(now, *peer);
  peer->outbox.confirm(heartbeat.received);
  const Millis lead = std::clamp(lead_end_ - now, Millis{0}, options_.times.lease);  // O6
  out.emplace_back(SendDown{session, Ack{heartbeat.number, peer->inbox.newest(), lead}});
  const bool first_lease = !std::exchange(peer->leased, lead > Millis{0}) && peer->leased;
  if (first_lease || now - peer->sent >= options_.times.heartbeat) resend(now, *peer, out);
}

void Roster::take(Instant now, SessionId session, const Numbered<News>& news, Actions& out) {
  Peer* peer = speaker(session, out);
  if (peer == nullptr || !peer->inbox.accept(news.number)) return;
  hear(now, *peer);
  std::visit(
      [&](auto told) {
        if constexpr (std::is_same_v<decltype(told), Join>) {
          told.offer.node = peer->node;
          told.offer.agent = agent_in(session);
          told.offer.contact = peer->contact;
        }
        if constexpr (requires { told.node; }) told.node = peer->node;
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
  out.emplace_back(SendDown{session, Forgotten{{agent, life}, options_.leader}});
  return nullptr;
}

AgentId Roster::agent_in(SessionId session) const {
  const auto found = speakers_.find(session);
  return found == speakers_.end() ? 0 : found->second.agent;
}

Roster::Peer* Roster::living_on(NodeId node) {
  const auto place = places_.find(node);
  if (place == places_.end()) return nullptr;
  const auto peer = peers_.find(place->second);
  return peer == peers_.end() || peer->second.lost ? nullptr : &peer->second;
}

/// Of what the agent was told to what the coordinator was; empty: there is none.
std::string Roster::contradiction(const Hello& hello) const {
  if (hello.nodes_min != options_.nodes_min || hello.nodes_max != options_.nodes_max) {
    return fmt::format("{} was started with --nnodes {}:{}, the coordinator with {}:{}",
                       hello.host,
                       hello.nodes_min,
                       hello.nodes_max,
                       options_.nodes_min,
                       options_.nodes_max);
  }
  if (hello.dead_after == options_.times.dead_after) return {};
  return fmt::format("{} was started with --dead-after {:g}s, the coordinator with {:g}s",
                     hello.host,
                     in_seconds(hello.dead_after),
                     in_seconds(options_.times.dead_after));
}

/// The agent's entry, a new one if there is a place for it; null otherwise.
Roster::Peer* Roster::admit(Instant now, SessionId session, const Hello& hello, Actions& out) {
  if (const auto known = peers_.find(hello.from.agent); known != peers_.end()) {
    return &known->second;
  }
  if (peers_.size() >= options_.agents_max) forget_lost();
  if (peers_.size() >= options_.agents_max) {
    refuse(session, {"there are too many agents already", {}}, out);
    return nullptr;
  }
  if (std::string why = contradiction(hello); !why.empty()) {
    refuse(session, {std::move(why), {}}, out);
    return nullptr;
  }
  NodeId node = hello.node.value_or(next_place(hello));
  const bool is_own = hello.from.agent == options_.leader.agent;
  const auto is_reserved = [&] { return node == options_.own_node && !is_own; };
  if (hello.any_place && (is_reserved() || living_on(node) != nullptr)) {
    node = next_place(hello);
  }
  if (is_reserved()) {
    refuse(session,
           {fmt::format("{} asks for the place of node {}, which {} has, the coordinator's host",
                        hello.host,
                        node.value,
                        options_.leader.host),
            {}},
           out);
    return nullptr;
  }
  if (const Peer* holder = living_on(node); holder != nullptr) {  // O4
    const char* which = holder->host == hello.host ? "another agent of " : "";
    refuse(session,
           {fmt::format("{} asks for the place of node {}, which {}{} has",
                        hello.host,
                        node.value,
                        which,
                        holder->host),
            holder->life == 0 ? Refused::for_ever : now - holder->heard},
           out);
    return nullptr;
  }
  if (const Peer* silent = most_silent_of_all(hello); silent != nullptr) {
    refuse(session,
           {fmt::format("{} is one node too many: {} take part, as many as --nnodes and --spares "
                        "allow",
                        hello.host,
                        options_.nodes_all),
            silent->life == 0 ? Refused::for_ever : now - silent->heard},
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

/// Whose life it was is told so all the same, if it comes again: it has been let in, and is not
/// known. Places are not forgotten: nobody gets one of theirs but who asks for it.
void Roster::forget_lost() {
  std::erase_if(peers_, [](const auto& entry) { return entry.second.lost; });
}

/// Of the nodes that live, where they are all that may take part; null where one more may. Another
/// agent of the same machine may be its predecessor, and is not counted.
const Roster::Peer* Roster::most_silent_of_all(const Hello& hello) const {
  if (options_.nodes_all == 0 || hello.witness) return nullptr;
  if (peers_.size() < static_cast<std::size_t>(options_.nodes_all)) return nullptr;
  const auto machine = [](std::string_view contact) {
    return contact.substr(0, contact.rfind(':'));
  };
  const auto is_there = [&](const Peer& peer) {
    if (peer.contact.empty()) return peer.host == hello.host;  // it has not come to this leader yet
    return machine(peer.contact) == machine(hello.contact);
  };
  const Peer* most_silent = nullptr;
  int count = 0;
  for (const auto& [agent, peer] : peers_) {
    if (peer.lost || peer.node >= first_witness || is_there(peer)) continue;
    ++count;
    if (most_silent == nullptr || peer.heard < most_silent->heard) most_silent = &peer;
  }
  return count < options_.nodes_all ? nullptr : most_silent;
}

/// What is heard by a coordinator that was held up may have been sent when that began: its sender
/// may have ended since then.
void Roster::hear(Instant now, Peer& peer) const {
  const Instant due = ticked_ + options_.times.heartbeat;
  peer.heard = now - due > options_.times.heartbeat / 2 ? due : now;
  peer.patience_from = now;
}

/// Where another agent has the place, it may be the one before, which is lost soon.
void Roster::refuse(SessionId session, Refused refusal, Actions& out) const {
  refusal.by = options_.leader;
  std::string note = "refused: " + refusal.why;
  if (refusal.holder_silent) {
    note = fmt::format("{}; it gets it once that one has been silent for {:g} s",
                       refusal.why,
                       in_seconds(options_.times.dead_after));
  }
  out.emplace_back(SendDown{session, std::move(refusal)});
  out.emplace_back(CloseSession{session, std::move(note)});
}

/// The one behind all of its kind.
NodeId Roster::next_place(const Hello& hello) const {
  const auto before = [&](std::map<NodeId, AgentId>::const_iterator end, NodeId none) {
    return end == places_.begin() ? none : std::max(none, std::prev(end)->first);
  };
  const NodeId last = hello.witness ? before(places_.end(), NodeId{first_witness.value - 1})
                                    : before(places_.lower_bound(first_witness), options_.own_node);
  return NodeId{last.value + 1};
}

void Roster::resend(Instant now, Peer& peer, Actions& out) {
  peer.sent = now;
  if (peer.session == 0) return;
  for (const auto& numbered : peer.outbox.unconfirmed()) {
    out.emplace_back(SendDown{peer.session, numbered});
  }
}

}  // namespace ddprun
