#include "rendezvous/succession/succession.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ddprun {

void Succession::start(Instant now, Actions& out) {
  heard_ = patience_ = now;
  if (!options_.founds) return;
  state_ = State::leading;
  const Voter& self = options_.self;
  leader_ = Leader{self.agent, self.host, self.address, {}, {}, {}};
  reign_.emplace();
  reign_->lead = Lead(self.agent, options_.times, {});
  reign_->base = Voters{{self}, self.agent};
  reign_->announce_at = reign_->call_at = now;
  out.emplace_back(TakeLead{*leader_, std::nullopt, now});
  lead_changed(out);
  out.emplace_back(Follow{*leader_});
  find_mark(options_.mark, self.host, out);
  if (options_.folder.empty()) return;
  founder_.settlement = Settlement(now, self.agent, options_.folder, options_.times);
  out.emplace_back(FolderTask(OpenFolder{{self.agent}}));
}

void Succession::on_event(Instant now, const SuccessionEvent& event, Actions& out) {
  const auto knows = [&] {
    return known_ ? std::optional(std::pair(known_->id(), known_->decided)) : std::nullopt;
  };
  const auto before = knows();
  if (state_ == State::leading && now >= lead_end_to_heed()) step_down(now, out);  // V2
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
  if (knows() != before) tell_needed(out);
}

std::optional<Instant> Succession::next_deadline() const {
  switch (state_) {
    case State::following:
      return stand_at();
    case State::standing:
      return std::min(election_->ask_at(), election_->ends_at());
    case State::leading: {
      Instant next = std::min(reign_->announce_at, lead_end_to_heed());
      if (election_) next = std::min({next, election_->ask_at(), election_->ends_at()});
      return next;
    }
    case State::finished:
      break;
  }
  return std::nullopt;
}

std::string Succession::reason() const {
  if (!leader_) return "no leader is known";
  std::string text = fmt::format("{} leads", leader_->host);
  if (!known_ || !known_->decided) return text;
  const Voters& voters = known_->record.voters;
  const std::size_t left = voters.all.size() - 1;
  if (voters.claim) {
    text += left == 0 ? "; its loss ends the job: no other node may claim it"
                      : fmt::format("; if it is lost, any of {} other voters claims the job", left);
    return text + " in " + options_.folder;
  }
  text += voters.outlive_head()
              ? fmt::format("; if it is lost, {} voters elect another", left)
              : fmt::format(
                    "; its loss ends the job unless ddprun is started there again: {} of {} "
                    "voters cannot elect another",
                    left,
                    left + 1);
  const std::string& why = founder_.settlement.why_votes();
  return why.empty() ? text : text + ", since " + why;
}

std::optional<Instant> Succession::lead_end() const {
  return reign_ ? std::optional(reign_->lead.until()) : std::nullopt;
}

/// Once the job is over no process starts workers, and agents that do not know it yet should find
/// this process. If voters claim, a leader whose lead is over gathers.
Instant Succession::lead_end_to_heed() const {
  return job_over_ || claims() ? Lead::forever : reign_->lead.until();
}

/// If voters claim, several may gather at once: each in an epoch that others rarely take.
Epoch Succession::next_epoch() const {
  const std::int64_t highest = std::max(pledge_.epoch(), highest_).value;
  if (!claims()) return Epoch{highest + 1};
  constexpr std::int64_t own = 1 << 16;
  return Epoch{(highest / own + 1) * own + static_cast<std::int64_t>(options_.self.agent % own)};
}

void Succession::on(Instant now, const BallotArrived& arrived, Actions& out) {
  if (state_ == State::finished) return;
  std::visit([&](const auto& ballot) { hear(now, ballot, out); }, arrived.ballot);
}

void Succession::on(Instant now, const Called& called, Actions& out) {
  if (founding() && called.knows > Epoch{} && !called.orphaned) give_way(out);  // V6
  find_mark(called.orphaned ? std::max(called.mark, called.knows) : called.mark, called.host, out);
  if (state_ == State::leading) {
    highest_ = std::max(highest_, called.knows);
    out.emplace_back(Admit{called.session});
    return;
  }
  const bool fresh = job_over_ || now < std::max(heard_, patience_) + options_.times.lease;
  out.emplace_back(TurnAway{called.session, fresh ? leader_ : std::nullopt});
}

/// A message that names a leader sends this node's agent there; promises are made only to the
/// leader itself. A leader in too low an epoch is told so: it may have no other source.
void Succession::on(Instant now, const HeardOf& heard, Actions& out) {
  if (heard.leader.agent == options_.self.agent || is_late(heard.leader)) return;
  if (founding() && heard.leader.epoch > Epoch{}) give_way(out);  // V6
  if (is_of_earlier_job(heard.leader.founding)) return answer_earlier_job(now, heard.leader, out);
  if (heard.leader.founding > job()) leave_job(now, out);  // V9
  if (is_orphaned_by(heard)) {
    if (may_go_on_without(heard.in_place_of) && still_waits(now, heard.leader.agent, out)) return;
    forget_job();
  }
  if (state_ == State::following && !is_voter() && heard.orphaned) forget_leader(out);
  if (state_ != State::following) return;
  if (!may_follow(heard.leader)) {
    if (heard.leader.epoch > Epoch{}) refuse(heard.leader.address, out);
    return;
  }
  const bool newer = !leader_ || heard.leader.epoch > leader_->epoch ||
                     (leader_->epoch == Epoch{} && heard.leader.epoch == Epoch{});
  if (newer) follow(heard.leader, out);
}

void Succession::on(Instant now, const LeaderAnswered&, Actions&) {
  if (state_ != State::following) return;
  patience_ = now;
  if (claims()) heard_ = now;
}

/// The leader may have been lost before it told the voters so. Or it lives: by the decision it
/// leads for a lease, and this voter could be elected now without the voters before (V2).
void Succession::on(Instant now, const RecordDecided& decided, Actions&) {
  if (state_ != State::following || !known_ || known_->decided) return;
  if (known_->id() != decided.record) return;
  known_->decided = true;
  heard_ = patience_ = now;
}

void Succession::on(Instant, const WorkersStarted&, Actions& out) {
  workers_live_ = true;
  keep_mark(out);
}

void Succession::on(Instant now, const MarkKept&, Actions& out) {
  founder_.mark_by.reset();
  if (state_ == State::leading && known_) decide_if_accepted(now, out);
}

void Succession::on(Instant, const WorkersGone&, Actions&) {
  workers_live_ = false;
}

void Succession::on(Instant now, const Propose& proposed, Actions& out) {
  if (state_ != State::leading) return;
  const bool inherited = known_ && known_->record.epoch < leader_->reign;
  if (inherited && !known_->decided) {
    reign_->wanted = proposed.record;
  } else {
    propose(now, proposed.record, out);
  }
}

void Succession::on(Instant now, const JobOver& over, Actions& out) {
  const Epoch founded = std::max(marked_, job()).epoch;
  const bool has_mark = !marked_.is_none() || (options_.mark > Epoch{} && options_.mark <= founded);
  if (over.everywhere && has_mark) out.emplace_back(DropMark{founded});
  const bool leads = state_ == State::leading && now < reign_->lead.until();
  if (claims() && !job_over_ && leads && over.everywhere) {
    out.emplace_back(FolderTask(CloseFolder{reign_->claimed->folder}));
  }
  job_over_ = true;
  if (state_ == State::leading) return;  // others are still to be told
  state_ = State::finished;
  election_.reset();
}

/// A process that was suspended has heard nothing meanwhile: a living leader will be heard soon.
void Succession::on(Instant now, const SuccessionTimeout&, Actions& out) {
  const Millis interval = options_.times.heartbeat;
  if (const auto due = next_deadline(); state_ == State::following && due && now >= *due) {
    if (now - *due > interval / 2) stand_after_ = now + interval * 2;
    if (now >= *stand_at()) stand(now, out);
    return;
  }
  if (election_ && now >= election_->ends_at()) give_up(now, out);
  if (election_ && now >= election_->ask_at()) ask(now, out);
  if (state_ != State::leading || now < reign_->announce_at) return;
  const bool may_raise = !founding() && !claims() && !election_;
  if (may_raise && highest_ > leader_->epoch) raise_epoch(now, out);
  if (now >= reign_->announce_at) announce(now, out);  // it has, if its own vote was enough
  if (founding()) return settle(now, out);
  if (founder_.mark_by && now >= *founder_.mark_by)
    on(now, MarkKept{}, out);  // the wait for a disk is bounded
  if (claims()) return keep_gathering(now, out);
}

}  // namespace ddprun
