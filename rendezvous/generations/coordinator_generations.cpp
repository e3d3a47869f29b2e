// The coordinator: from the end of one generation to the start of the next, or to that of the job.
#include "rendezvous/assert.hpp"
#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace ddprun {

/// Ends the generation for a reason that spends no budget. An end that has begun only changes its
/// cause.
void Coordinator::interrupt(std::string cause, Actions& out) {
  if (state_ == State::running) stop(SIGTERM, restart_grace(), cause, out);
  if (!inherited_) cause_ = std::move(cause);
}

/// What ends a generation that a node is about to leave anyway takes no time from its saving.
Millis Coordinator::restart_grace() const {
  return leave_at_ ? options_.grace : options_.restart_grace;
}

void Coordinator::stop(int signal, Millis grace, const std::string& why, Actions& out) {
  state_ = State::ending;
  straggler_deadline_.reset();
  last_call_.reset();
  saving_.reset();
  leave_at_.reset();
  for (const Member& member : current_.members) {
    if (!lives_on(member.offer.node)) continue;
    out.emplace_back(StopGeneration{member.offer.node, current_.number, signal, grace, why});
  }
}

/// How the job ends after this generation, nothing if another one follows.
std::optional<Outcome> Coordinator::verdict(Instant now) const {
  if (outcome_ || !failure_) return outcome_;
  if (failure_->end.kind == WorkerEnd::Kind::not_executed) {
    return Outcome{exit_status_of(failure_->end), describe(*failure_), failure_};
  }
  return member_lost_ ? std::nullopt : restarts_.verdict(now, *failure_);
}

/// Once no member is alive: only now the cause of the failures is known.
void Coordinator::conclude(Instant now, Actions& out) {
  if (stopped_.size() < current_.members.size()) return;
  outcome_ = verdict(now);
  const GatheringOptions& gathering = options_.gathering;
  const bool alone = gathering.nodes_all() == 1 && !stuck_.empty();
  if (alone && !outcome_) {
    outcome_ =
        Outcome{static_cast<int>(ExitStatus::system_refused), stuck_.begin()->second.text, {}};
  }
  if (outcome_) return finish(out);
  if (hands_over_) return hand_over(out);
  if (failure_ && !member_lost_) restart(now, out);
  state_ = State::forming;
  form(now, out);
}

/// Earlier joins and losses of nodes no longer count.
void Coordinator::settle() {
  settle_deadline_.reset();
  settled_at_.reset();
}

/// After the failure of a worker, and of nothing else: the budget bounds these.
void Coordinator::restart(Instant now, Actions& out) {
  settle();
  const Member* first = current_.member_with(failure_->rank);
  // Of those that hang, the first to be seen may wait for another one.
  const bool is_to_blame = failure_->end.kind != WorkerEnd::Kind::hung;
  if (first != nullptr && is_to_blame) aside_.failed_first(first->offer.node);
  const Millis pause = restarts_.restart(now);
  cause_ = fmt::format("{}: {}", restarts_.which(now), describe(*failure_));
  if (pause <= Millis{0}) return;
  resume_at_ = now + pause;
  out.emplace_back(Note{fmt::format("waiting {} s before {}", in_seconds(pause), cause_)});
}

void Coordinator::form(Instant now, Actions& out) {
  if (hands_over_) return;
  if (resume_at_ && now < *resume_at_) return;
  resume_at_.reset();
  if (settle_deadline_ && now >= *settle_deadline_) return give_up_settling(out);  // C8
  const bool first = current_.number == GenerationNumber{};
  switch (first ? gathering_.ask_first(now) : gathering_.ask_next(now, aside_)) {
    case Gathering::Answer::wait:
      return say_who_is_here(now, out);
    case Gathering::Answer::start:
      return propose(now, out);
    case Gathering::Answer::give_up:
      return give_up(out);
  }
}

void Coordinator::propose(Instant now, Actions& out) {
  const bool first = current_.number == GenerationNumber{};
  Generation next;
  next.number = newest_number_ = GenerationNumber{newest_number_.value + 1};  // C2
  next.restart_count = first ? 0 : current_.restart_count + 1;
  next.cause = cause_;
  restarts_.record(now, next);
  next.blames = aside_.record();
  int rank = 0;
  const std::vector<Offer> members = gathering_.take_members(current_, aside_);
  for (const Offer& offer : members) {  // C3: they are in order of nodes
    next.members.push_back({offer, Rank{rank}});
    rank += offer.worker_count;
  }
  DDPRUN_ASSERT(rank > 0);
  if (const Offer& owner = next.members.front().offer; owner.store_port == 0) {
    outcome_ = Outcome{static_cast<int>(ExitStatus::system_refused), owner.store_error, {}};
    for (const Member& member : next.members) gathering_.add(member.offer);
    return finish(out);
  }
  if (std::string text = aside_.say(gathering_.ready()); !text.empty()) {
    out.emplace_back(Note{std::move(text)});
  }
  if (!options_.voters_decide) return start(now, std::move(next), out);
  // The succession may leave some out again: see its voters_of.
  const auto add_voter = [&](const Offer& offer) {
    if (next.voters.all.size() >= Voters::count_max) return;
    next.voters.all.push_back({offer.agent, offer.node, offer.host, offer.contact});
  };
  if (!witnesses_.empty()) add_voter(witnesses_.rbegin()->second);  // the newest lives longest
  if (!options_.anchored || witnesses_.empty()) {
    for (const Member& member : next.members) add_voter(member.offer);
    for (const auto& [node, offer] : gathering_.ready()) add_voter(offer);
  }
  proposal_ = std::move(next);
  undecided_deadline_ = now + options_.undecided_after;
  deciding_since_ = now;
  if (!settle_deadline_) settle_deadline_ = now + options_.settle_timeout;
  state_ = State::deciding;
  out.emplace_back(Propose{*proposal_});
}

/// Its number is not used again: a part of the voters may have accepted it.
void Coordinator::withdraw(Instant now) {
  undecided_ = undecided_ + (now - deciding_since_);
  put_back();
}

void Coordinator::put_back() {
  for (const Member& member : proposal_->members) gathering_.add(member.offer);
  proposal_.reset();
  state_ = State::forming;
}

/// If the store is new itself, it is unknown which side is at fault when it is not reached.
void Coordinator::note_newcomers(const Generation& next) {
  const bool same_store = !current_.members.empty() &&
                          current_.members.front().offer.agent == next.members.front().offer.agent;
  if (!same_store) return newcomers_.clear();
  for (const Member& member : next.members) {
    const Member* before = current_.member_on(member.offer.node);
    const bool is_new = before == nullptr || before->offer.agent != member.offer.agent;
    if (is_new) newcomers_.insert(member.offer.node);
  }
}

void Coordinator::start(Instant now, Generation next, Actions& out) {
  let_leave(out);
  restarts_.generation_starts(now);
  undecided_ = {};
  if (settle_deadline_) settled_at_ = now + options_.settled_after;
  for (const Member& member : next.members) gathering_.remove(member.offer.node);
  hosts_told_ = 0;
  stopped_.clear();
  inherited_ = false;
  member_lost_ = false;
  lost_.clear();
  succeeded_.clear();
  failure_.reset();
  note_newcomers(next);
  note_repeated_host(next, out);
  current_ = std::move(next);
  state_ = State::running;
  for (Part& part : current_.parts()) {
    const Member& member = current_.members[static_cast<std::size_t>(part.group_rank)];
    out.emplace_back(StartGeneration{member.offer.node, std::move(part)});
  }
}

void Coordinator::give_up(Actions& out) {
  const bool first = current_.number == GenerationNumber{};
  const std::string missing =
      fmt::format("{} of at least {} nodes joined: {}{}",
                  gathering_.ready().size(),
                  first ? gathering_.needed_first() : options_.gathering.nodes_min,
                  gathering_.hosts_without({}),
                  not_seen());
  outcome_ = first ? Outcome{static_cast<int>(ExitStatus::rendezvous_unavailable), missing, {}}
                   : Outcome{static_cast<int>(ExitStatus::run_again),
                             fmt::format("{}; {}", cause_, missing),
                             {}};
  finish(out);
}

Instant Coordinator::give_up_deciding_at() const {
  return deciding_since_ + (options_.gathering.replace_timeout - undecided_);
}

void Coordinator::give_up_deciding(Actions& out) {
  give_up_for(
      fmt::format("{} for {:g} s: all nodes must be able to connect to each other, and must "
                  "reach the folder of claims if there is one",
                  reason(),
                  in_seconds(options_.gathering.replace_timeout)),
      out);
}

void Coordinator::give_up_settling(Actions& out) {
  give_up_for(
      fmt::format("{}: nodes have joined and left for {:g} s, and no generation of them has "
                  "lasted",
                  reason(),
                  in_seconds(options_.settle_timeout)),
      out);
}

void Coordinator::give_up_for(std::string why, Actions& out) {
  const bool first = current_.number == GenerationNumber{};
  const auto status = first ? ExitStatus::rendezvous_unavailable : ExitStatus::run_again;
  outcome_ = Outcome{static_cast<int>(status), std::move(why), {}};
  voters_may_go_on_ = state_ == State::deciding && (!first || options_.voters_claim);
  if (state_ == State::deciding) put_back();
  finish(out);
}

void Coordinator::finish(Actions& out) {
  DDPRUN_ASSERT(outcome_.has_value());
  state_ = State::finished;
  let_leave(out);
  const auto tell = [&](NodeId node) {
    out.emplace_back(FinishJob{node, *outcome_, may_go_on_elsewhere()});
  };
  for (const auto* all : {&gathering_.ready(), &std::as_const(witnesses_)}) {
    for (const auto& [node, offer] : *all) tell(node);
  }
  for (const auto& [node, stuck] : stuck_) tell(node);
  for (const NodeId node : left_out_) tell(node);
}

}  // namespace ddprun
