// Heartbeats and their answers: the lease, and the way through a relay.
#include "rendezvous/membership/uplink.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace ddprun {

/// On every connection, since answers show which of them is alive; through the relay alone while
/// that one answers. What is not confirmed needs an answer over a connection of this agent's own.
void Uplink::beat(Instant now, Way way, Actions& out) {
  beat_at_ = now + options_.times.heartbeat;
  while (!beats_.empty() && now - beats_.front().at > options_.times.lease) beats_.pop_front();
  const Heartbeat heartbeat{++beats_count_, inbox_.newest()};
  const bool may_be_relayed =
      way == Way::any && coordinator_ != 0 && relay_.line(now) && outbox_.unconfirmed().empty();
  if (may_be_relayed) {
    const BeatForRelay beat{followed_->agent, followed_->reign, {self_, heartbeat}};
    out.emplace_back(SendUp{*relay_.line(now), beat});
  }
  bool sent = may_be_relayed;
  for (const Line& line : lines_) {
    if (!leads_to_followed(line) || (may_be_relayed && relay_.suffices(now))) continue;
    out.emplace_back(SendUp{line.id, heartbeat});
    sent = true;
  }
  if (sent) beats_.push_back({heartbeat.number, now});
}

void Uplink::hear(Instant now, ConnectionId from, const Ack& ack, Actions& out) {
  if (!leads_to_followed(*find(from))) return;
  relay_.proven(now);
  if (!accept_answer(now, ack, out)) return;
  const bool had_another = lines_.size() > 1;
  keep_only(from, out);
  if (had_another) repeat_news(from, out);  // they may have been lost with the old one
}

/// It may extend the lease. Whether it is new, and not too old to matter.
bool Uplink::accept_answer(Instant now, const Ack& ack, Actions& out) {
  while (!beats_.empty() && beats_.front().number < ack.answers) beats_.pop_front();
  if (beats_.empty() || beats_.front().number != ack.answers) return false;
  outbox_.confirm(ack.received);
  const Instant end = beats_.front().at + std::min(options_.times.lease, ack.lead);  // U1
  beats_.pop_front();
  suspect_at_ = now + options_.times.lease / 3;
  doors_.begin_anew();
  if (end > now) out.emplace_back(LeaderAnswered{});
  const bool waits_to_start = put_off_ > inbox_.newest();  // the coordinator sees it running
  if (end <= now && give_up_at_ && !end_asked_ && !waits_to_start) {
    give_up_at_ = now + patience();  // the coordinator waits as well, and will report a failure
  }
  if (end > now && (!lease_end_ || end > *lease_end_)) {
    lease_end_ = end;
    answered_ = true;
    retry_ = options_.retry_first;
    refused_since_.reset();
    refusal_.clear();
    give_up_at_.reset();
  }
  return true;
}

void Uplink::end_lease_if_due(Instant now, Actions& out) {
  if (!lease_end_ || now < *lease_end_) return;
  lease_end_.reset();
  give_up_at_ = now + options_.replace_timeout;
  out.emplace_back(LeaseEnded{});
  if (end_asked_) stop_waiting(out);
}

void Uplink::hear(Instant now, ConnectionId from, const UseRelay& use, Actions& out) {
  if (leads_to_followed(*find(from))) use_relay(now, use.address, out);
}

void Uplink::use_relay(Instant now, const std::string& address, Actions& out) {
  const ConnectionId before = relay_.assign(now, address);
  if (before != ConnectionId{}) out.emplace_back(Disconnect{before});
}

void Uplink::connect_relay(Actions& out) {
  relay_.connecting(++connections_);
  out.emplace_back(Connect{connections_, relay_.address()});
}

/// No two beats of an agent have one number, and it forgets those to a leader that it has left. So
/// what that one answers late counts nothing.
void Uplink::hear_relay(Instant now, const ToAgent& message, Actions& out) {
  const auto* answer = std::get_if<AckFromRelay>(&message);
  if (answer == nullptr || coordinator_ == 0) return;
  relay_.answered(now);
  (void)accept_answer(now, answer->ack, out);
}

bool Uplink::is_followed(AgentId leader, Epoch reign) const {
  return followed_ && followed_->agent == leader && followed_->reign == reign;
}

/// As a relay: those of agents with another leader go nowhere.
void Uplink::on(Instant, const PassBeats& pass, Actions& out) {
  const Line* line = newest_entered();
  if (line == nullptr) return;
  BeatBatch batch;
  for (const BeatForRelay& beat : pass.beats) {
    if (is_followed(beat.leader, beat.reign)) batch.beats.push_back(beat.relayed);
  }
  if (!batch.beats.empty()) out.emplace_back(SendUp{line->id, std::move(batch)});
}

/// As a relay: of the answers to them.
void Uplink::hear(Instant, ConnectionId from, const AckBatch& batch, Actions& out) {
  if (!leads_to_followed(*find(from))) return;
  out.emplace_back(PassAcks{batch});
}

}  // namespace ddprun
