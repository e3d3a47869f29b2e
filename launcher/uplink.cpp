#include "launcher/uplink.hpp"

#include "rendezvous/result.hpp"
#include "rendezvous/worker_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ddprun {
namespace {

constexpr int unavailable = static_cast<int>(ExitStatus::rendezvous_unavailable);

}  // namespace

Uplink::Uplink(UplinkOptions options)
    : options_(std::move(options)), self_{options_.agent, 1}, retry_(options_.retry_first) {}

void Uplink::start(Instant now, Actions& out) {
  beat_at_ = now;
  give_up_at_ = now + options_.join_timeout;
  connect(now, out);
}

void Uplink::on_event(Instant now, const UplinkEvent& event, Actions& out) {
  end_lease_if_due(now, out);  // U2
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

std::optional<Instant> Uplink::next_deadline() const {
  Instant next = beat_at_;
  for (const auto& other : {connect_at_, suspect_at_, lease_end_, give_up_at_}) {
    if (other) next = std::min(next, *other);
  }
  return next;
}

void Uplink::on(Instant now, const ConnectionUp& up, Actions& out) {
  const auto line = std::ranges::find(lines_, up.connection, &Line::id);
  if (line == lines_.end()) return;
  line->up = true;
  line->since = now;
  greet(now, up.connection, out);
}

/// The next attempt is made at once where a connection was lost, and later where nobody answered.
void Uplink::on(Instant now, const ConnectionDown& down, Actions& out) {
  const auto line = std::ranges::find(lines_, down.connection, &Line::id);
  if (line == lines_.end()) return;
  const bool answered = line->answered;
  lines_.erase(line);
  if (!down.why.empty()) why_down_ = down.why;
  if (down.refused && !answered_) {
    out.emplace_back(GiveUp{{unavailable, down.why, {}}});
    return;
  }
  if (!lines_.empty()) return;
  if (answered) return connect(now, out);
  connect_at_ = now + retry_;
  retry_ = std::min(options_.retry_max, retry_ + retry_);
}

void Uplink::on(Instant now, const Heard& heard, Actions& out) {
  if (std::ranges::find(lines_, heard.connection, &Line::id) == lines_.end()) return;
  std::visit([&](const auto& message) { take(now, heard.connection, message, out); },
             heard.message);
}

void Uplink::take(Instant now, ConnectionId from, const Ack& ack, Actions& out) {
  outbox_.confirm(ack.received);
  while (!beats_.empty() && beats_.front().number < ack.answers) beats_.pop_front();
  if (beats_.empty() || beats_.front().number != ack.answers) return;  // too old to matter
  const Instant end = beats_.front().at + std::min(options_.times.lease(), ack.lead);  // U1
  beats_.pop_front();
  suspect_at_ = now + options_.times.lease() / 3;
  if (end > now && (!lease_end_ || end > *lease_end_)) {
    lease_end_ = end;
    coordinator_ = ack.coordinator;
    answered_ = true;
    retry_ = options_.retry_first;
    refused_since_.reset();
    give_up_at_.reset();
  }
  keep_only(from, out);
}

void Uplink::take(Instant now, ConnectionId from, const Forgotten& forgotten, Actions& out) {
  if (forgotten.who != self_) return;
  ++self_.life;
  coordinator_ = 0;
  beats_.clear();
  outbox_ = {};
  inbox_ = {};
  lease_end_.reset();
  give_up_at_ = now + options_.replace_timeout;
  out.emplace_back(LifeEnded{});
  keep_only(from, out);  // what is still on its way over another one belongs to the old life
  if (stop_signal_) outbox_.push(StopRequested{*stop_signal_});  // it is no news of one life
  greet(now, from, out);
}

/// The holder of this agent's place may be its predecessor. If it was heard after this agent was
/// first refused, with a margin for what is on its way, it is not.
void Uplink::take(Instant now, ConnectionId, const Refused& refused, Actions& out) {
  if (!refused_since_) refused_since_ = now;
  const bool may_be_lost =
      refused.holder_silent &&
      now - *refused_since_ <= *refused.holder_silent + options_.times.dead_after;
  if (!may_be_lost) out.emplace_back(GiveUp{{unavailable, refused.why, {}}});
  retry_ = options_.retry_max;
}

/// Confirmed at once: the last one ends this process.
void Uplink::take(Instant now,
                  ConnectionId,
                  const Numbered<Instruction>& instruction,
                  Actions& out) {
  if (!lease_end_) return;  // it is repeated until a heartbeat confirms it
  if (!inbox_.accept(instruction.number)) return;
  beat(now, out);
  out.emplace_back(PassOn{instruction.message});
}

/// Whoever wants to stop does not wait for a coordinator that does not answer.
void Uplink::on(Instant, const TellNews& tell, Actions& out) {
  if (const auto* stop = std::get_if<StopRequested>(&tell.news)) {
    stop_signal_ = stop->signal;
    if (!lease_end_) stop_waiting(out);
  }
  const Numbered<News>& news = outbox_.push(tell.news);
  if (const Line* line = newest_up()) out.emplace_back(SendUp{line->id, news});
}

void Uplink::on(Instant now, const Timeout&, Actions& out) {
  if (give_up_at_ && now >= *give_up_at_) stop_waiting(out);
  if (now >= beat_at_) beat(now, out);
  if (connect_at_ && now >= *connect_at_) connect(now, out);
  if (suspect_at_ && now >= *suspect_at_) doubt(now, out);
}

/// Nobody has answered for long: a second connection, and again one in place of an attempt that
/// takes too long, or of the elder one if the younger has not been answered either.
void Uplink::doubt(Instant now, Actions& out) {
  const Millis lease = options_.times.lease();
  if (lines_.size() == 2) {
    const Line& younger = lines_.back();
    const Millis patience = younger.up ? lease / 3 : lease / 6;
    if (now - younger.since < patience) {
      suspect_at_ = younger.since + patience;
      return;
    }
    const auto replaced = younger.up ? lines_.begin() : lines_.begin() + 1;
    out.emplace_back(Disconnect{replaced->id});
    lines_.erase(replaced);
  }
  suspect_at_ = now + lease / 6;
  if (!connect_at_) connect(now, out);
}

void Uplink::connect(Instant now, Actions& out) {
  connect_at_.reset();
  lines_.push_back({++connections_, false, false, now});
  suspect_at_ = now + options_.times.lease() / (lines_.size() == 2 ? 6 : 3);
  out.emplace_back(Connect{connections_});
}

/// All that is not confirmed goes over each new connection, in order, behind a heartbeat: what it
/// leads to is taken only under a lease.
void Uplink::greet(Instant now, ConnectionId connection, Actions& out) {
  Hello hello{self_, options_.host, options_.node, options_.nodes_min, options_.nodes_max};
  hello.dead_after = options_.times.dead_after;
  hello.coordinator = coordinator_;
  out.emplace_back(SendUp{connection, hello});
  beat(now, out);
  for (const Numbered<News>& news : outbox_.unconfirmed()) {
    out.emplace_back(SendUp{connection, news});
  }
}

/// On every connection: which of them is alive shows in the answers.
void Uplink::beat(Instant now, Actions& out) {
  beat_at_ = now + options_.times.heartbeat();
  while (!beats_.empty() && now - beats_.front().at > options_.times.lease()) beats_.pop_front();
  const Heartbeat heartbeat{++beats_count_, inbox_.newest()};
  bool sent = false;
  for (const Line& line : lines_) {
    if (!line.up) continue;
    out.emplace_back(SendUp{line.id, heartbeat});
    sent = true;
  }
  if (sent) beats_.push_back({heartbeat.number, now});
}

void Uplink::end_lease_if_due(Instant now, Actions& out) {
  if (!lease_end_ || now < *lease_end_) return;
  lease_end_.reset();
  give_up_at_ = now + options_.replace_timeout;
  out.emplace_back(LeaseEnded{});
  if (stop_signal_) stop_waiting(out);
}

void Uplink::stop_waiting(Actions& out) {
  give_up_at_.reset();
  const std::string why = why_down_.empty() ? "nobody answers at " + options_.endpoint : why_down_;
  if (stop_signal_) {
    out.emplace_back(GiveUp{{128 + *stop_signal_,
                             fmt::format("stopped by {}; {}", signal_name(*stop_signal_), why),
                             {}}});
  } else if (answered_) {
    out.emplace_back(
        GiveUp{{static_cast<int>(ExitStatus::run_again),
                fmt::format("the coordinator was lost: {}; what was saved is kept: run again", why),
                {}}});
  } else {
    out.emplace_back(GiveUp{
        {unavailable,
         fmt::format("there is no coordinator: {}; is ddprun started on the node that has this "
                     "address, or with --node-rank 0?",
                     why),
         {}}});
  }
}

void Uplink::keep_only(ConnectionId connection, Actions& out) {
  std::vector<Line> kept;
  for (const Line& line : lines_) {
    if (line.id == connection) {
      kept.push_back({line.id, true, true, line.since});
    } else {
      out.emplace_back(Disconnect{line.id});
    }
  }
  lines_ = std::move(kept);
}

const Uplink::Line* Uplink::newest_up() const {
  const Line* newest = nullptr;
  for (const Line& line : lines_) {
    if (line.up) newest = &line;
  }
  return newest;
}

}  // namespace ddprun
