// The uplink: where it looks for the leader, and until when.
#include "rendezvous/membership/uplink.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

constexpr int unavailable = static_cast<int>(ExitStatus::rendezvous_unavailable);

}  // namespace

void Uplink::hear(Instant now, ConnectionId from, const Redirect& redirect, Actions& out) {
  std::erase_if(lines_, [&](const Line& line) { return line.id == from; });
  out.emplace_back(Disconnect{from});
  if (lines_.empty()) connect_later(now);
  if (redirect.leader) out.emplace_back(HeardOf{*redirect.leader});
}

void Uplink::on(Instant now, const Follow& follow, Actions& out) {
  const bool is_another = served_ && !served_->continues(follow.leader);
  const bool begins_anew = is_another && coordinator_ != 0;
  const std::optional<Instant> waits_until = give_up_at_;
  followed_ = served_ = follow.leader;
  knows_ = follow.leader.epoch == Epoch{} ? Epoch{} : std::max(knows_, follow.leader.epoch);
  if (is_another) {
    served_at_.clear();
    leave_will_to("", out);
    voters_of_ = {};
  }
  if (!refused_by_.continues(follow.leader)) refusal_.clear();
  doors_.begin_anew();
  retry_ = options_.retry_first;
  if (begins_anew) {  // U4; it may follow the earlier leader again
    ++self_.life;
    forget_all(now, out);
  }
  if (is_another && waits_until && !end_asked_) {  // this leader may be lost, too
    give_up_at_ = std::max(*waits_until, now + options_.times.dead_after);
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

/// The next attempt comes at once if a connection was lost, and later if there was no answer.
void Uplink::on(Instant now, const ConnectionDown& down, Actions& out) {
  if (relay_.has(down.connection)) return relay_.down(now);
  const auto line = std::ranges::find(lines_, down.connection, &Line::id);
  if (line == lines_.end()) return;
  const bool answered = line->answered;
  const bool is_shut_out = down.shut_out && line->at_endpoint && !answered_;
  if (!line->refused && !down.why.empty()) why_down_ = down.why;
  lines_.erase(line);
  if (is_shut_out) be_shut_out(now, down.why, out);
  if (const Line* other = newest_entered()) repeat_news(other->id, out);  // the old one lost some
  if (!lines_.empty()) return;
  if (answered && followed_) return connect(now, out);
  connect_later(now);
}

/// Final once it has lasted.
void Uplink::be_shut_out(Instant now, const std::string& why, Actions& out) {
  if (!shut_out_since_ || shut_out_why_ != why) {
    shut_out_since_ = now;
    shut_out_why_ = why;
    out.emplace_back(ShutOut{why, options_.shut_out_for});
  }
  if (now - *shut_out_since_ >= options_.shut_out_for) {
    out.emplace_back(GiveUp{{unavailable, why, {}}});
  }
}

void Uplink::connect_later(Instant now) {
  connect_at_ = now + retry_;
  retry_ = std::min(options_.retry_max, retry_ + retry_);
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

/// Whether the job that it knows is over for this agent: `line` leads to where that job's leader
/// listened, and nobody can be elected without that leader, or none ever admitted this agent.
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

std::string Uplink::no_lease() const {
  const std::string& why = refusal_.empty() ? why_down_ : refusal_;
  return why.empty() ? "no answer from " + options_.endpoint : why;
}

Millis Uplink::patience() const {
  if (end_asked_ && std::holds_alternative<LeaveRequested>(*end_asked_)) {
    return options_.times.dead_after / 4;
  }
  if (end_asked_) return options_.times.dead_after;
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
    outcome.text = why;
    if (!any_place_) outcome.text += "; is that --node-rank given twice?";
  } else if (shut_out_since_) {
    outcome.text = shut_out_why_;  // names its remedy
  } else if (served_) {
    outcome.text = fmt::format("the coordinator on {} was lost: {}", served_->host, why);
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

}  // namespace ddprun
