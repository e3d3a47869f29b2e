#include "rendezvous/membership/roster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace ddprun {

void Roster::on_event(Instant now, const RosterEvent& event, Actions& out) {
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

void Roster::inherit(Instant now,
                     const Generation& record,
                     Instant old_head_heard,
                     const std::optional<Legacy>& legacy) {
  const auto has_gone = [&](NodeId node) {
    return std::ranges::find(legacy->gone, node) != legacy->gone.end();
  };
  for (const Member& member : record.members) {
    const Offer& offer = member.offer;
    Peer peer;
    peer.node = offer.node;
    peer.host = offer.host;
    const bool is_old_head = offer.agent == record.voters.head;
    keep_alive(is_old_head ? old_head_heard : now, peer);
    peer.leaves = legacy && (is_old_head || has_gone(offer.node));
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
  std::visit([&](const auto& message) { hear(now, received.session, message, out); },
             received.message);
}

void Roster::on(Instant, const SessionClosed& closed, Actions&) {
  const auto found = speakers_.extract(closed.session);
  if (found.empty()) return;
  const auto peer = peers_.find(found.mapped().agent);
  if (peer != peers_.end() && peer->second.session == closed.session) peer->second.session = {};
  regroups_ = true;
}

void Roster::on(Instant now, const Instruct& instruct, Actions& out) {
  const NodeId node = std::visit([](const auto& what) { return what.node; }, instruct.instruction);
  if (living_on(node) == nullptr) return;
  Peer& peer = peers_.at(places_.at(node));
  Instruction instruction = instruct.instruction;
  if (auto* finish = std::get_if<FinishJob>(&instruction)) {
    finish->outcome.everywhere = !finish->leaves && now < lead_end_;
  }
  const auto& numbered = peer.outbox.push(std::move(instruction));
  if (peer.outbox.unconfirmed().size() == 1) peer.sent = now;
  if (peer.session != SessionId{}) out.emplace_back(SendDown{peer.session, numbered});
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
    if (peer.session != SessionId{}) out.emplace_back(SendDown{peer.session, changed});
  }
}

/// If a tick comes late, messages that came meanwhile are waiting too: handle those first.
void Roster::on(Instant now, const Timeout&, Actions& out) {
  const Millis interval = options_.times.heartbeat;
  const Millis late = now - (ticked_ + interval);
  if (late < Millis{0}) return;
  ticked_ = now;
  for (auto& [agent, peer] : peers_) {
    if (late > interval / 2) peer.patience_from = std::min(now, peer.patience_from + late);
    if (peer.lost || now - peer.patience_from < options_.times.dead_after) continue;
    lose(peer,
         fmt::format("silent for {:g} s",
                     static_cast<double>(options_.times.dead_after.count) / 1000.0),
         out);
  }
  if (regroups_) name_relays(out);
}

void Roster::lose(Peer& peer, std::string why, Actions& out) {
  peer.lost = regroups_ = true;
  peer.outbox = {};
  out.emplace_back(Report{NodeLost{peer.node, std::move(why), peer.witness}});
}

/// It may come late, twice, or from somebody who does not know the secret. (O7)
void Roster::hear(Instant, SessionId, const Will& will, Actions& out) {
  const auto found = peers_.find(will.agent);
  if (found == peers_.end() || will.secret == AgentSecret{}) return;
  Peer& peer = found->second;
  if (peer.ended || peer.secret != will.secret) return;
  peer.ended = true;
  if (!peer.lost) lose(peer, "its ddprun has ended, and no process of it is left there", out);
}

void Roster::hear(Instant now, SessionId session, const Hello& hello, Actions& out) {
  const Incarnation& from = hello.from;
  Peer* peer = admit(now, session, hello, out);
  if (peer == nullptr) return;
  if (peer->life != 0 && peer->secret != hello.secret) {  // O7
    std::string note =
        fmt::format("refused: a process that is not {0}'s agent says that it is", peer->host);
    out.emplace_back(CloseSession{session, std::move(note)});
    return;
  }
  const bool is_known = hello.coordinator == options_.leader.agent && peer->life != 0;
  const bool is_from_before = hello.coordinator != 0 && !is_known;
  const bool is_over = peer->ended || (from.life == peer->life && peer->lost);
  if (is_from_before || from.life < peer->life || is_over) {  // O5
    speakers_[session] = {from.agent, from.life};
    out.emplace_back(SendDown{session, Forgotten{from, options_.leader}});
    return;
  }
  if (from.life > peer->life) {
    if (peer->life != 0 && !peer->lost) {  // O1: its messages here are not of the life before
      speakers_.erase(session);
      if (peer->session == session) peer->session = {};
      return;
    }
    if (peer->life != 0) peer->leaves = false;  // else it may be an inherited one that leaves
    peer->life = from.life;
    peer->lost = false;
    peer->outbox = {};
    peer->inbox = {};
  }
  if (peer->session != SessionId{} && peer->session != session) {
    out.emplace_back(CloseSession{peer->session, ""});
    speakers_.erase(peer->session);
  }
  speakers_[session] = {from.agent, from.life};
  peer->session = session;
  keep_alive(now, *peer);
  peer->contact = hello.contact;
  peer->secret = hello.secret;
  peer->relay.clear();
  regroups_ = true;
  out.emplace_back(SendDown{session, Welcome{options_.leader, peer->node, voters_, voters_of_}});
  resend(now, *peer, out);
}

void Roster::hear(Instant now, SessionId session, const Heartbeat& heartbeat, Actions& out) {
  Peer* peer = speaker(session, out);
  if (peer == nullptr) return;
  const Ack ack = answer(now, *peer, heartbeat);
  out.emplace_back(SendDown{session, ack});
  const bool first_lease = !std::exchange(peer->leased, ack.lead > Millis{0}) && peer->leased;
  regroups_ = regroups_ || first_lease;
  if (first_lease || now - peer->sent >= options_.times.heartbeat) resend(now, *peer, out);
}

/// Whoever has not confirmed an instruction is not answered here, and so uses its own connection.
void Roster::hear(Instant now, SessionId session, const BeatBatch& batch, Actions& out) {
  if (speaker(session, out) == nullptr) return;
  AckBatch answers;
  for (const auto& [from, heartbeat] : batch.beats) {
    const auto found = peers_.find(from.agent);
    if (found == peers_.end()) continue;
    Peer& peer = found->second;
    if (peer.life != from.life || peer.lost) continue;
    const Ack ack = answer(now, peer, heartbeat);
    if (peer.outbox.unconfirmed().empty()) answers.acks.push_back({from, ack});
  }
  out.emplace_back(SendDown{session, std::move(answers)});
}

Ack Roster::answer(Instant now, Peer& peer, const Heartbeat& heartbeat) const {
  keep_alive(now, peer);
  peer.outbox.confirm(heartbeat.received);
  const Millis lead = std::clamp(lead_end_ - now, Millis{0}, options_.times.lease);  // O6
  return {heartbeat.number, peer.inbox.newest(), lead};
}

void Roster::hear(Instant now, SessionId session, const Numbered<News>& news, Actions& out) {
  Peer* peer = speaker(session, out);
  if (peer == nullptr || !peer->inbox.accept(news.number)) return;
  keep_alive(now, *peer);
  const auto* join = std::get_if<Join>(&news.message);
  if (join != nullptr && !peer->witness && join->offer.worker_count == 0) {
    std::string note = fmt::format("refused: {} offers no worker, and is no witness", peer->host);
    out.emplace_back(CloseSession{session, std::move(note)});
    return;
  }
  std::visit(
      [&](auto told) {
        if constexpr (std::is_same_v<decltype(told), Join>) {
          told.offer.node = peer->node;
          told.offer.agent = agent_in(session);
          told.offer.contact = peer->contact;
          told.offer.witness = peer->witness;
        }
        if constexpr (requires { told.node; }) told.node = peer->node;
        if constexpr (std::is_same_v<decltype(told), LeaveRequested>) {
          told.with_lead = agent_in(session) == options_.leader.agent;
          peer->leaves = true;
        }
        out.emplace_back(Report{std::move(told)});
      },
      news.message);
}

/// The agent of `session`; null, after telling it so, if that life is over.
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

/// A coordinator that was suspended may hear messages sent before that: their sender
/// may have ended since then.
void Roster::keep_alive(Instant now, Peer& peer) const {
  const Instant due = ticked_ + options_.times.heartbeat;
  peer.heard = now - due > options_.times.heartbeat / 2 ? due : now;
  peer.patience_from = now;
}

void Roster::resend(Instant now, Peer& peer, Actions& out) {
  peer.sent = now;
  if (peer.session == SessionId{}) return;
  for (const auto& numbered : peer.outbox.unconfirmed()) {
    out.emplace_back(SendDown{peer.session, numbered});
  }
}

}  // namespace ddprun
