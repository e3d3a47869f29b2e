#include "rendezvous/membership/uplink.hpp"

#include "rendezvous/result.hpp"
#include "rendezvous/worker_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ddprun {
namespace {

constexpr int unavailable = static_cast<int>(ExitStatus::rendezvous_unavailable);

/// The end of this node that `news` asks for, with the job's or without it; nothing if none.
std::optional<StopRequested> end_asked_in(const News& news) {
  if (const auto* stop = std::get_if<StopRequested>(&news)) return *stop;
  if (const auto* leave = std::get_if<LeaveRequested>(&news)) return StopRequested{leave->signal};
  return std::nullopt;
}

}  // namespace

Uplink::Uplink(UplinkOptions options)
    : options_(std::move(options)),
      self_{options_.agent, 1},
      any_place_(!options_.node.has_value()),
      doors_(options_.doors, options_.contact),
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

void Uplink::hear(Instant now, ConnectionId from, const Redirect& redirect, Actions& out) {
  std::erase_if(lines_, [&](const Line& line) { return line.id == from; });
  out.emplace_back(Disconnect{from});
  if (lines_.empty()) connect_later(now);
  if (redirect.leader) out.emplace_back(HeardOf{*redirect.leader});
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

void Uplink::on(Instant now, const Follow& follow, Actions& out) {
  const bool is_another = served_ && !served_->continues(follow.leader);
  const bool begins_anew = is_another && coordinator_ != 0;
  followed_ = served_ = follow.leader;
  knows_ = follow.leader.epoch == Epoch{} ? Epoch{} : std::max(knows_, follow.leader.epoch);
  if (is_another) {
    served_at_.clear();
    voters_of_ = {};
  }
  doors_.begin_anew();
  retry_ = options_.retry_first;
  if (begins_anew) {  // U4; it may follow the earlier leader again
    ++self_.life;
    forget_all(now, out);
  } else if (is_another && give_up_at_ && !end_asked_) {
    give_up_at_ = now + patience();  // as in a new life
  }
  std::optional<ConnectionId> there;
  for (const Line& line : lines_) {
    if (leads_to_followed(line)) there = line.id;
  }
  keep_only(there.value_or(ConnectionId{}), out);
  if (!there) return connect(now, out);
  begins_anew ? greet(*there, out) : enter(now, *there, out);
}

void Uplink::on(Instant now, const Unfollow&, Actions& out) {
  followed_.reset();
  use_relay(now, "", out);
  retry_ = options_.retry_first;
  keep_only({}, out);
  if (!connect_at_) connect_later(now);
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

/// The next attempt comes at once if a connection was lost, and later if there was no answer.
void Uplink::on(Instant now, const ConnectionDown& down, Actions& out) {
  if (relay_.has(down.connection)) return relay_.down(now);
  const auto line = std::ranges::find(lines_, down.connection, &Line::id);
  if (line == lines_.end()) return;
  const bool answered = line->answered;
  const bool is_final = down.refused && line->at_endpoint && !answered_;
  if (!line->refused && !down.why.empty()) why_down_ = down.why;
  lines_.erase(line);
  if (is_final) {
    out.emplace_back(GiveUp{{unavailable, down.why, {}}});
    return;
  }
  if (const Line* other = newest_entered()) repeat_news(other->id, out);  // the old one lost some
  if (!lines_.empty()) return;
  if (answered && followed_) return connect(now, out);
  connect_later(now);
}

void Uplink::connect_later(Instant now) {
  connect_at_ = now + retry_;
  retry_ = std::min(options_.retry_max, retry_ + retry_);
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
  lease_end_.reset();
  give_up_at_ = now + (end_asked_ ? options_.times.dead_after : patience());
  out.emplace_back(LifeEnded{});
  if (end_asked_) outbox_.push(*end_asked_);
}

/// The holder of this agent's place may be this node's earlier agent. It is not if it was heard
/// after this agent was first refused, with a margin for messages in transit. The answer may have
/// travelled for long, too: it was given at an unknown time after its connection was up.
void Uplink::hear(Instant now, ConnectionId from, const Refused& refused, Actions& out) {
  if (!refused_since_ || !refused_by_.continues(refused.by)) refused_since_ = now;
  refused_by_ = refused.by;
  refusal_ = refused.why;
  why_down_.clear();
  find(from)->refused = true;  // its end, which follows, adds no information
  const bool may_be_lost =
      refused.holder_silent &&
      find(from)->since - *refused_since_ <= *refused.holder_silent + options_.times.dead_after;
  if (!may_be_lost) out.emplace_back(GiveUp{{unavailable, refused.why, {}}});
  retry_ = options_.retry_max;
}

/// Confirmed at once, since the last one ends this process. Without a lease a start is delayed, and
/// so is the wish that its workers save; a later stop is handled before both.
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
      const Instant soon = now + options_.times.dead_after / 4;
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

/// After a long silence opens a second connection. Later replaces an attempt that
/// takes too long, or the older connection if the newer one is silent, too.
void Uplink::doubt(Instant now, Actions& out) {
  const Millis lease = options_.times.lease;
  if (lines_.size() == 2) {
    const Line& younger = lines_.back();
    const Millis patience = younger.up ? lease / 3 : lease / 8;
    if (now - younger.since < patience) {
      suspect_at_ = younger.since + patience;
      return;
    }
    const auto replaced = younger.up ? lines_.begin() : lines_.begin() + 1;
    out.emplace_back(Disconnect{replaced->id});
    lines_.erase(replaced);
  }
  suspect_at_ = now + lease / 8;
  if (!connect_at_) connect(now, out);
}

void Uplink::connect(Instant now, Actions& out) {
  connect_at_.reset();
  const std::string door = doors_.next(followed_, voters_);
  const bool at_endpoint = doors_.is_endpoint(door);
  lines_.push_back({++connections_, false, false, now, door, at_endpoint, "", std::nullopt});
  suspect_at_ = now + options_.times.lease / (lines_.size() == 2 ? 8 : 3);
  out.emplace_back(Connect{connections_, door});
}

/// The leader at the other end of `line` says so itself; it may be answered by Follow.
void Uplink::hear_of(const Line& line, const Leader& leader, Actions& out) const {
  const bool replaces = at_own_leaders_place(line) && leader.agent != served_->agent;
  out.emplace_back(HeardOf{leader, replaces ? served_->agent : 0, replaces && is_orphaned(line)});
}

/// No process can be elected without the one that listened at the other end of `line`, or no leader
/// ever admitted this one, which so has no part in that job.
bool Uplink::is_orphaned(const Line& line) const {
  if (!at_own_leaders_place(line)) return false;
  const AgentId dead = served_->agent;
  return !let_in_ || needed_.contains(dead) || (!voters_.all.empty() && !voters_.outlive({dead}));
}

/// True if `line` connects to the address of the leader that owns this agent life; if that leader
/// has not admitted it, to the address that was named for the leader.
bool Uplink::at_own_leaders_place(const Line& line) const {
  if (!served_) return false;
  if (!served_at_.empty()) return line.peer == served_at_;
  return line.peer == served_->address || line.door == served_->address;
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
  hello.will_secret = options_.will_secret;
  out.emplace_back(SendUp{connection, hello});
}

/// Unconfirmed messages are repeated on each new connection, in order, after a heartbeat: a start
/// that they cause needs a lease.
void Uplink::enter(Instant now, ConnectionId connection, Actions& out) {
  let_in_ = true;
  coordinator_ = followed_->agent;
  served_at_ = find(connection)->peer;
  beat(now, Way::direct, out);
  repeat_news(connection, out);
}

void Uplink::repeat_news(ConnectionId connection, Actions& out) const {
  for (const Numbered<News>& news : outbox_.unconfirmed()) {
    out.emplace_back(SendUp{connection, news});
  }
}

std::string Uplink::no_lease() const {
  const std::string& why = refusal_.empty() ? why_down_ : refusal_;
  return why.empty() ? "no answer from " + options_.endpoint : why;
}

Millis Uplink::patience() const {
  return answered_ ? options_.replace_timeout : options_.join_timeout;
}

void Uplink::stop_waiting(Actions& out) {
  give_up_at_.reset();
  const bool refused = !refusal_.empty();
  std::string why = refused ? refusal_ : "no answer from " + options_.endpoint;
  if (!why_down_.empty()) why = refused ? refusal_ + "; then " + why_down_ : why_down_;
  Outcome outcome{unavailable, {}, {}};
  if (end_asked_) {
    outcome = outcome_of(*end_asked_in(*end_asked_), options_.saving_signals);
    outcome.text +=
        fmt::format("; this node was waiting for a {}: {}", refused ? "place" : "coordinator", why);
  } else if (answered_) {
    outcome.exit_status = static_cast<int>(ExitStatus::run_again);
    outcome.text = fmt::format("{}{}; what was saved is kept: run again",
                               refused ? "" : "the coordinator was lost: ",
                               why);
  } else if (refused) {
    outcome.text = why + "; is that --node-rank given twice?";
  } else {
    outcome.text = fmt::format(
        "there is no coordinator: {}; is ddprun started on the node that has this address, or "
        "with --node-rank 0?",
        why);
  }
  out.emplace_back(GiveUp{std::move(outcome)});
}

void Uplink::keep_only(ConnectionId connection, Actions& out) {
  std::vector<Line> kept;
  for (const Line& line : lines_) {
    if (line.id == connection) {
      kept.push_back(line);
      kept.back().up = kept.back().answered = true;
    } else {
      out.emplace_back(Disconnect{line.id});
    }
  }
  lines_ = std::move(kept);
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
