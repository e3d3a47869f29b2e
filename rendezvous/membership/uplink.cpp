#include "rendezvous/membership/uplink.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

Uplink::Uplink(UplinkOptions options)
    : options_(std::move(options)),
      self_{options_.agent, 1},
      any_place_(!options_.node.has_value()),
      doors_(options_.endpoint, options_.other_doors, options_.contact),
      relay_(options_.times),
      retry_(options_.retry_first) {}

void Uplink::start(Instant now, Actions& out) {
  beat_at_ = now;
  give_up_at_ = now + options_.join_timeout;
  connect(now, out);
}

void Uplink::on_event(Instant now, const UplinkEvent& event, Actions& out) {
  const std::optional<Instant> lease_end = lease_end_;
  end_lease_if_due(now, out);  // U2
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
  if (lease_end_ != lease_end) out.emplace_back(LeaseChanged{lease_end_});
}

std::optional<Instant> Uplink::next_deadline() const {
  Instant next = beat_at_;
  for (const auto& other :
       {connect_at_, suspect_at_, lease_end_, give_up_at_, relay_.connect_at()}) {
    if (other) next = std::min(next, *other);
  }
  return next;
}

void Uplink::on(Instant now, const ConnectionUp& up, Actions& out) {
  if (relay_.has(up.connection)) return relay_.up();
  const auto line = std::ranges::find(lines_, up.connection, &Line::id);
  if (line == lines_.end()) return;
  line->up = true;
  line->since = now;
  line->peer = up.peer;
  if (line->at_endpoint) shut_out_since_.reset();
  greet(up.connection, out);
}

void Uplink::hear(Instant now, ConnectionId from, const Welcome& welcome, Actions& out) {
  Line& line = *find(from);
  line.leader = welcome.leader;
  if (any_place_) options_.node = welcome.node;
  take_voters(welcome.voters, welcome.record, out);
  if (leads_to_followed(line)) {
    learn_of(welcome.leader, out);
    enter(now, from, out);
  } else {
    hear_of(line, welcome.leader, out);
  }
}

void Uplink::hear(Instant, ConnectionId from, const VotersChanged& changed, Actions& out) {
  if (!leads_to_followed(*find(from))) return;
  take_voters(changed.voters, changed.record, out);
  learn_of(changed.leader, out);
}

void Uplink::take_voters(const Voters& voters, const RecordId& record, Actions& out) {
  learn_voters(voters, record);
  if (record != RecordId{}) out.emplace_back(RecordDecided{record});
}

/// It may have heard of newer voters over another connection.
void Uplink::learn_voters(const Voters& voters, const RecordId& record) {
  if (voters.all.empty() || record < voters_of_) return;
  voters_ = voters;
  voters_of_ = record;
}

/// The followed leader may lead in another epoch by now, or have founded its job.
void Uplink::learn_of(const Leader& leader, Actions& out) {
  if (leader == *followed_) return;
  followed_ = served_ = leader;
  knows_ = std::max(knows_, leader.epoch);
  out.emplace_back(HeardOf{leader});
}

void Uplink::on(Instant, const VotersChanged& changed, Actions&) {
  learn_voters(changed.voters, changed.record);
}

void Uplink::on(Instant, const NeededVoters& needed, Actions&) {
  needed_ = needed.agents;
}

bool Uplink::leads_to_followed(const Line& line) const {
  return followed_ && line.leader && followed_->continues(*line.leader);
}

void Uplink::on(Instant now, const Heard& heard, Actions& out) {
  if (relay_.has(heard.connection)) return hear_relay(now, heard.message, out);
  if (find(heard.connection) == nullptr) return;
  std::visit([&](const auto& message) { hear(now, heard.connection, message, out); },
             heard.message);
}

void Uplink::hear(Instant now, ConnectionId from, const Forgotten& forgotten, Actions& out) {
  if (forgotten.who != self_) return;
  Line& line = *find(from);
  line.leader = forgotten.by;
  if (!leads_to_followed(line)) {
    return hear_of(line, forgotten.by, out);
  }
  ++self_.life;
  forget_all(now, out);
  keep_only(from, out);  // messages still on another one belong to the old life
  suspect_at_ = now + options_.times.lease / 3;
  greet(from, out);
}

/// But a request to end the job, or this node, outlives the life of the agent.
void Uplink::forget_all(Instant now, Actions& out) {
  coordinator_ = 0;
  use_relay(now, "", out);
  beats_.clear();
  outbox_ = {};
  inbox_ = {};
  put_off_ = 0;
  job_is_over_ = false;
  lease_end_.reset();
  give_up_at_ = now + patience();
  out.emplace_back(LifeEnded{});
  if (end_asked_) outbox_.push(*end_asked_);
}

/// Confirmed at once, since the last one ends this process. Without a lease a start is delayed, and
/// so is a request that its workers save; a later stop is handled before both.
void Uplink::hear(Instant now,
                  ConnectionId from,
                  const Numbered<Instruction>& instruction,
                  Actions& out) {
  if (!leads_to_followed(*find(from))) return;
  const bool is_next = instruction.number == inbox_.newest() + 1;
  if (!lease_end_ && std::holds_alternative<StartGeneration>(instruction.message)) {
    if (is_next) put_off_ = newest_put_off_ = instruction.number;
    return beat(now, Way::direct, out);  // it is repeated under a lease
  }
  const bool waits_to_start = put_off_ == inbox_.newest() + 1;
  if (waits_to_start && instruction.number == newest_put_off_ + 1) {
    if (std::holds_alternative<SaveGeneration>(instruction.message)) {
      newest_put_off_ = instruction.number;
      return;
    }
    for (auto number = put_off_; number <= newest_put_off_; ++number) (void)inbox_.accept(number);
  }
  if (!inbox_.accept(instruction.number)) return;
  beat(now, Way::direct, out);
  const auto* finish = std::get_if<FinishJob>(&instruction.message);
  if (finish != nullptr && !finish->leaves) {
    job_is_over_ = true;
    leave_will_to(served_at_, out);
  }
  out.emplace_back(PassOn{instruction.message});
}

/// A process that is to stop does not wait for a silent coordinator; but one that leaves may be
/// between two of them, and unheard it would be waited for.
void Uplink::on(Instant now, const TellNews& tell, Actions& out) {
  if (end_asked_in(tell.news)) {
    end_asked_ = tell.news;
    const bool may_be_heard = answered_ && std::holds_alternative<LeaveRequested>(tell.news);
    if (!lease_end_ && !may_be_heard) stop_waiting(out);
    if (!lease_end_ && may_be_heard) {
      const Instant soon = now + patience();
      give_up_at_ = give_up_at_ ? std::min(*give_up_at_, soon) : soon;
    }
  }
  const Numbered<News>& news = outbox_.push(tell.news);
  if (const Line* line = newest_entered()) out.emplace_back(SendUp{line->id, news});
}

void Uplink::on(Instant now, const Timeout&, Actions& out) {
  if (give_up_at_ && now >= *give_up_at_) stop_waiting(out);
  if (now >= beat_at_) beat(now, Way::any, out);
  if (connect_at_ && now >= *connect_at_) connect(now, out);
  if (relay_.connect_at() && now >= *relay_.connect_at()) connect_relay(out);
  if (suspect_at_ && now >= *suspect_at_) doubt(now, out);
}

/// The other end names the leader; no other message is sent before that leader is followed.
void Uplink::greet(ConnectionId connection, Actions& out) const {
  Hello hello{self_, options_.host, options_.node, options_.nodes_min, options_.nodes_max};
  hello.dead_after = options_.times.dead_after;
  hello.coordinator = coordinator_;
  hello.any_place = any_place_;
  hello.contact = options_.contact;
  hello.knows = knows_;
  hello.orphaned = is_orphaned(*std::ranges::find(lines_, connection, &Line::id));
  hello.witness = options_.witness;
  hello.mark = options_.mark;
  hello.secret = options_.secret;
  out.emplace_back(SendUp{connection, hello});
}

/// Unconfirmed messages are repeated on each new connection, in order, after a heartbeat: a start
/// that they cause needs a lease.
void Uplink::enter(Instant now, ConnectionId connection, Actions& out) {
  let_in_ = true;
  coordinator_ = followed_->agent;
  served_at_ = find(connection)->peer;
  leave_will_to(served_at_, out);
  beat(now, Way::direct, out);
  repeat_news(connection, out);
}

/// Once the job is over nobody waits for this node, nor does a coordinator that dies with it.
void Uplink::leave_will_to(const std::string& address, Actions& out) {
  const bool is_here = coordinator_ == options_.agent;
  const std::string whom = job_is_over_ || is_here ? "" : address;
  if (std::exchange(will_is_for_, whom) != whom) out.emplace_back(WillIsFor{whom});
}

void Uplink::repeat_news(ConnectionId connection, Actions& out) const {
  for (const Numbered<News>& news : outbox_.unconfirmed()) {
    out.emplace_back(SendUp{connection, news});
  }
}

Uplink::Line* Uplink::find(ConnectionId connection) {
  const auto found = std::ranges::find(lines_, connection, &Line::id);
  return found == lines_.end() ? nullptr : &*found;
}

const Uplink::Line* Uplink::newest_entered() const {
  const Line* newest = nullptr;
  for (const Line& line : lines_) {
    if (leads_to_followed(line)) newest = &line;
  }
  return newest;
}

}  // namespace ddprun
