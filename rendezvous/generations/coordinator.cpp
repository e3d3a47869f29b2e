#include "rendezvous/generations/coordinator.hpp"

#include "rendezvous/assert.hpp"
#include "rendezvous/endpoint_text.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <initializer_list>
#include <optional>
#include <utility>

namespace ddprun {

namespace {

std::optional<Instant> earliest(std::initializer_list<std::optional<Instant>> deadlines) {
  std::optional<Instant> first;
  for (const auto& each : deadlines) {
    if (each && (!first || *each < *first)) first = each;
  }
  return first;
}

bool votes(const Generation& generation, NodeId node) {
  const std::vector<Voter>& all = generation.voters.all;
  return std::ranges::find(all, node, &Voter::node) != all.end();
}

/// As a member, or as a voter: without enough of those it would never be decided.
bool needs(const Generation& proposal, NodeId node) {
  return proposal.member_on(node) != nullptr || votes(proposal, node);
}

}  // namespace

bool saves(const StopRequested& request, const std::set<int>& saving_signals) {
  return request.time_is_up || saving_signals.contains(request.signal);
}

Outcome outcome_of(const StopRequested& request, const std::set<int>& saving_signals) {
  const std::string by = request.time_is_up ? "" : "by " + signal_name(request.signal);
  if (!saves(request, saving_signals)) return {128 + request.signal, "stopped " + by, {}};
  return {static_cast<int>(ExitStatus::run_again),
          fmt::format("stopped {}; what was saved is kept: run again",
                      request.time_is_up ? "before its time limit" : by),
          {}};
}

Outcome outcome_of(const LeaveRequested& request) {
  return {
      128 + request.signal,
      fmt::format("stopped by {}; the job goes on without this node", signal_name(request.signal)),
      {}};
}

Coordinator::Coordinator(CoordinatorOptions options,
                         const Generation& inherited,
                         const std::vector<NodeId>& gone,
                         std::string cause)
    : options_(options),
      state_(State::ending),
      gathering_(options.gathering),
      restarts_(options.restarts, inherited),
      aside_(inherited),
      current_(inherited),
      inherited_(true),
      newest_number_(inherited.number),
      member_lost_(true),
      cause_(std::move(cause)) {
  for (const NodeId node : gone) {
    if (current_.member_on(node) != nullptr) stopped_.insert(node);
  }
}

void Coordinator::on_event(Instant now, const CoordinatorEvent& event, Actions& out) {
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

std::optional<Instant> Coordinator::next_deadline() const {
  switch (state_) {
    case State::forming: {
      const auto next = resume_at_ ? resume_at_ : gathering_.next_deadline();
      return earliest({next, settle_deadline_});
    }
    case State::running:
      return earliest({straggler_deadline_,
                       last_call_,
                       saving_ ? std::optional(saving_->until) : std::nullopt,
                       settled_at_,
                       leave_at_});
    case State::deciding:
      return earliest({undecided_deadline_, give_up_deciding_at(), settle_deadline_});
    case State::ending:
    case State::finished:
      break;
  }
  return std::nullopt;
}

std::string Coordinator::reason() const {
  switch (state_) {
    case State::forming:
      if (resume_at_) return fmt::format("waiting before {}", cause_);
      return fmt::format("waiting: {} of {} nodes joined",
                         gathering_.ready().size(),
                         options_.gathering.nodes_max);
    case State::deciding:
      return fmt::format("generation {} waits for its {} voters",
                         proposal_->number.value,
                         proposal_->voters.all.size());
    case State::running:
      return fmt::format("generation {} runs: {} of {} workers have ended",
                         current_.number.value,
                         succeeded_.size(),
                         current_.world_size());
    case State::ending:
      return fmt::format("generation {} ends: {} of {} nodes have stopped",
                         current_.number.value,
                         stopped_.size(),
                         current_.members.size());
    case State::finished:
      break;
  }
  return outcome_->text;
}

Wait Coordinator::waits() const {
  switch (state_) {
    case State::forming:
      return resume_at_ ? Wait::pause : Wait::nodes;
    case State::deciding:
      return Wait::voters;
    case State::ending:
      return Wait::workers;
    case State::running:
    case State::finished:
      break;
  }
  return Wait::nothing;
}

std::string Coordinator::waits_for() const {
  const Wait what = waits();
  if (what == Wait::nothing) return {};
  if (what == Wait::pause) return cause_;
  if (what == Wait::nodes) {
    return fmt::format("nodes: {} of {} have joined: {}{}",
                       gathering_.ready().size(),
                       options_.gathering.nodes_max,
                       gathering_.hosts_without({}),
                       details_of_wait());
  }
  if (what == Wait::voters) {
    return fmt::format("voters: {} are to accept generation {}",
                       proposal_->voters.all.size(),
                       proposal_->number.value);
  }
  std::vector<std::string> hosts;
  for (const Member& member : current_.members) {
    if (!stopped_.contains(member.offer.node)) hosts.push_back(member.offer.host);
  }
  return fmt::format("workers to end on {}", few_of(hosts));
}

/// Whether workers of the current generation may live on `node`.
bool Coordinator::lives_on(NodeId node) const {
  const bool started = state_ == State::running || state_ == State::ending;
  return started && current_.member_on(node) != nullptr && !stopped_.contains(node);
}

void Coordinator::on(Instant now, const Join& join, Actions& out) {
  const NodeId node = join.offer.node;
  lost_.erase(node);
  if (state_ == State::finished) {
    out.emplace_back(FinishJob{node, *outcome_, may_go_on_elsewhere()});
    return;
  }
  if (join.offer.is_of_witness()) {
    witnesses_[node] = join.offer;
    if (state_ == State::forming) return;
    out.emplace_back(
        Note{join.offer.host + " is a witness, and votes from the next generation on"});
    return;
  }
  const bool stopped = inherited_ || join.done_with >= current_.number;
  if (lives_on(node) && !stopped) return;
  const auto stuck = stuck_.find(node);
  if (stuck != stuck_.end() && join.done_with < stuck->second.generation) return;
  const Member* proposed = proposal_ ? proposal_->member_on(node) : nullptr;
  if (proposed != nullptr && proposed->offer == join.offer) return;  // a repetition
  if (proposed != nullptr) withdraw(now);
  const bool was_member = lives_on(node);
  const bool stopped_unasked = state_ == State::running && was_member;
  if (was_member) stopped_.insert(node);
  if (restarts_.see(join.snapshot)) {
    aside_.progressed(current_);
    settle();
    if (was_member) newcomers_.clear();
  }
  stuck_.erase(node);
  const bool leaves = leavers_.contains(node);
  if (leaves) leavers_.stopped(node);
  if (leaves && state_ == State::running) let_leave(out);
  if (!leaves && !left_out_.contains(node)) gathering_.add(join.offer);
  if (stopped_unasked) {
    interrupt(fmt::format("{} was cut off and stopped its workers", join.offer.host), out);
  } else if (state_ == State::running) {
    return consider_joiners(now, out);
  }
  if (state_ == State::deciding) return;
  state_ == State::ending ? conclude(now, out) : form(now, out);
}

void Coordinator::on(Instant now, const NodeLost& lost, Actions& out) {
  if (state_ == State::finished) return;
  if (const auto witness = witnesses_.extract(lost.node); !witness.empty()) {
    out.emplace_back(Note{fmt::format("witness {} was lost: {}", witness.mapped().host, lost.why)});
  }
  const Member* member = lives_on(lost.node) ? current_.member_on(lost.node) : nullptr;
  if (state_ == State::deciding && needs(*proposal_, lost.node)) withdraw(now);
  gathering_.remove(lost.node);
  leavers_.remove(lost.node);
  stuck_.erase(lost.node);
  left_out_.erase(lost.node);
  if (member != nullptr) {
    stopped_.insert(lost.node);
    member_lost_ = true;
    lost_.insert(lost.node);
    interrupt(fmt::format("{} was lost: {}", member->offer.host, lost.why), out);
  }
  if (state_ == State::ending) conclude(now, out);
  if (state_ == State::forming) form(now, out);
}

void Coordinator::on(Instant now, const WorkerFailed& failed, Actions& out) {
  if (state_ != State::running || failed.generation != current_.number) return;  // C5
  // Workers may have got the signal by which a node leaves, or may miss those that have.
  if (leave_at_) return stop(SIGTERM, options_.grace, cause_, out);
  failure_ = failed.failure;
  std::string why = describe(*failure_);
  if (!verdict(now)) why += fmt::format(", {} follows", restarts_.next(now));
  stop(SIGTERM, options_.restart_grace, why, out);
}

void Coordinator::on(Instant now, const WorkerSucceeded& succeeded, Actions& out) {
  if (state_ != State::running || succeeded.generation != current_.number) return;
  if (succeeded_.empty()) straggler_deadline_ = now + options_.straggler_after;
  succeeded_.insert(succeeded.rank);
  if (static_cast<int>(succeeded_.size()) < current_.world_size()) return;
  outcome_ = Outcome{0, "all workers ended with success", {}};
  stop(SIGTERM, Millis{0}, {}, out);  // to end processes that workers left
}

/// A fault between nodes would happen again: a restart would not help, except one without a
/// node that joined last.
void Coordinator::on(Instant, const StoreUnreachable& unreachable, Actions& out) {
  const Member* member = current_.member_on(unreachable.node);
  if (state_ != State::running || unreachable.generation != current_.number) return;
  if (member == nullptr) return;
  const Offer& owner = current_.members.front().offer;
  std::string why =
      fmt::format("{} cannot reach the workers' store of {}", member->offer.host, owner.host);
  std::string text = fmt::format("{} at {} ({}): check --advertise, --interface and firewalls",
                                 why,
                                 endpoint_text(owner.address, owner.store_port),
                                 unreachable.why);
  if (newcomers_.contains(unreachable.node)) {
    left_out_.insert(unreachable.node);
    out.emplace_back(Note{text + "; the node is left out"});
    return interrupt(std::move(why), out);
  }
  const bool first = current_.restart_count == 0;
  const auto status = first ? ExitStatus::rendezvous_unavailable : ExitStatus::run_again;
  outcome_ = Outcome{static_cast<int>(status), std::move(text), {}};
  stop(SIGTERM, restart_grace(), why, out);
}

void Coordinator::on(Instant now, const Decided& decided, Actions& out) {
  if (state_ != State::deciding || decided.number != proposal_->number) return;
  start(now, *std::exchange(proposal_, std::nullopt), out);
  consider_joiners(now, out);  // nodes that joined meanwhile
}

/// A proposal of the meantime may have too few nodes.
void Coordinator::on(Instant now, const MarkFound& found, Actions& out) {
  const bool founds = current_.number == GenerationNumber{};
  if (!founds || state_ == State::finished) return;
  if (gathering_.heed_mark(static_cast<int>(witnesses_.size()))) {
    out.emplace_back(
        Note{fmt::format("a mark on {} says that this job may still run elsewhere: it starts with "
                         "{} nodes, so that the others cannot run it alone; if no part of it "
                         "runs, remove the mark or give --risk-two-jobs",
                         found.where,
                         gathering_.needed_first())});
  }
  if (state_ == State::deciding) withdraw(now);
  form(now, out);
}

void Coordinator::on(Instant now, const WorkersStuck& stuck, Actions& out) {
  const NodeId node = stuck.node;
  if (state_ == State::finished) {
    out.emplace_back(FinishJob{node, *outcome_, may_go_on_elsewhere()});
    return;
  }
  const bool has_joined =
      gathering_.contains(node) || (proposal_ && proposal_->member_on(node) != nullptr);
  const bool stopped = inherited_ || stuck.generation >= current_.number;
  if (has_joined || stuck_.contains(node) || (lives_on(node) && !stopped)) return;
  stuck_[node] = stuck;
  left_out_.erase(node);
  aside_.outlived_kill(node);
  if (options_.gathering.nodes_max > 1) {
    out.emplace_back(Note{stuck.text + "; the node is set aside"});
  }
  if (!lives_on(node)) return;
  stopped_.insert(node);
  interrupt(stuck.text, out);
  conclude(now, out);
}

bool Coordinator::is_same_wish(Instant now, const StopRequested& request) const {
  return asked_ && now - *asked_ < options_.same_wish && request == asked_by_ &&
         request.signal != SIGINT;
}

void Coordinator::on(Instant now, const StopRequested& request, Actions& out) {
  const bool saving = saves(request, options_.saving_signals);
  switch (state_) {
    case State::deciding:
      withdraw(now);
      [[fallthrough]];
    case State::forming:
      outcome_ = outcome_of(request, options_.saving_signals);
      finish(out);
      break;
    case State::running:
      outcome_ = outcome_of(request, options_.saving_signals);
      asked_ = now;
      asked_by_ = request;
      if (saving) return stop(SIGTERM, options_.save_grace, outcome_->text, out);
      stop(request.signal, options_.grace, outcome_->text, out);
      break;
    case State::ending:
      stop_sooner(now, request, out);
      break;
    case State::finished:
      break;
  }
}

/// Whether enough nodes could form the next generation without that one and those that leave. Who
/// has taken over does not know yet who is there, so one node is enough of those that it does know.
bool Coordinator::enough_without(NodeId node) const {
  std::set<NodeId> left;
  for (const Member& member : current_.members) {
    if (lives_on(member.offer.node)) left.insert(member.offer.node);
  }
  for (const auto& [ready, offer] : gathering_.ready()) left.insert(ready);
  if (proposal_) {
    for (const Member& member : proposal_->members) left.insert(member.offer.node);
  }
  std::erase_if(left, [&](NodeId each) { return each == node || leavers_.contains(each); });
  return static_cast<int>(left.size()) >= (inherited_ ? 1 : options_.gathering.nodes_min);
}

void Coordinator::on(Instant now, const LeaveRequested& request, Actions& out) {
  const NodeId node = request.node;
  if (outcome_ || leavers_.contains(node)) return;
  const bool has_begun = current_.number != GenerationNumber{};
  const bool are_enough = has_begun ? enough_without(node) : !request.with_lead;
  if (!are_enough) return stop_with_last(now, request, out);
  if (!lives_on(node) && !request.with_lead) return let_go(now, request, out);
  leavers_.add(node, request.signal);
  const Member* member = current_.member_on(node);
  if (!inherited_ && member != nullptr) {
    cause_ = fmt::format("{} left by {}", member->offer.host, signal_name(request.signal));
  }
  if (request.with_lead) leave_with_lead(now, request, out);
  if (state_ != State::running) return;
  if (!request.may_be_for_all) return stop(SIGTERM, options_.grace, cause_, out);
  if (!leave_at_) leave_at_ = now + options_.same_wish;
}

/// Too few would be left: the job stops, and workers have the same time as where it goes on.
void Coordinator::stop_with_last(Instant now, const LeaveRequested& request, Actions& out) {
  if (state_ == State::deciding) withdraw(now);
  ends_by_leave_ = true;
  const Outcome stopped = outcome_of(StopRequested{request.signal}, {});
  outcome_ = state_ == State::ending ? verdict(now).value_or(stopped) : stopped;
  if (state_ == State::forming) return finish(out);
  if (state_ == State::running) stop(SIGTERM, options_.grace, outcome_->text, out);
}

/// The lead goes to another process as soon as no worker lives, whatever this node does.
void Coordinator::leave_with_lead(Instant now, const LeaveRequested& request, Actions& out) {
  hands_over_ = request.signal;
  if (!lives_on(request.node)) leavers_.stopped(request.node);
  gathering_.remove(request.node);
  if (state_ == State::deciding) withdraw(now);
  if (state_ == State::forming) hand_over(out);
}

/// If nobody is left to go on, the job ends with this node.
void Coordinator::hand_over(Actions& out) {
  state_ = State::forming;
  if (gathering_.ready().empty()) return end_with_lead(out);
  HandOver wish{leavers_.nodes(), {}};
  for (const Member& member : current_.members) {
    const NodeId node = member.offer.node;
    const bool is_there = gathering_.contains(node) || leavers_.contains(node);
    if (!is_there && !lost_.contains(node)) wish.gone.push_back(node);
  }
  out.emplace_back(std::move(wish));
}

void Coordinator::on(Instant, const LeadKept&, Actions& out) {
  if (hands_over_ && state_ == State::forming) end_with_lead(out);
}

void Coordinator::end_with_lead(Actions& out) {
  ends_by_leave_ = true;
  outcome_ = outcome_of(StopRequested{*hands_over_}, {});
  finish(out);
}

/// A node without workers may go at once, unless its vote may be needed for the next generation.
void Coordinator::let_go(Instant now, const LeaveRequested& request, Actions& out) {
  const NodeId node = request.node;
  const bool waits = gathering_.contains(node) || left_out_.contains(node) || stuck_.contains(node);
  const bool is_needed = proposal_ && needs(*proposal_, node);
  if (!waits && !is_needed) return leavers_.add(node, request.signal);  // it has yet to join
  if (is_needed) withdraw(now);
  gathering_.remove(node);
  left_out_.erase(node);
  stuck_.erase(node);
  if (state_ != State::running && votes(current_, node)) {
    leavers_.add(node, request.signal);
    leavers_.stopped(node);
  } else {
    out.emplace_back(FinishJob{node, outcome_of(request), true});
  }
  if (state_ == State::forming) form(now, out);
}

/// Replaces the restart that is under way, or is a repeated request.
void Coordinator::stop_sooner(Instant now, const StopRequested& request, Actions& out) {
  if (is_same_wish(now, request)) return;
  const std::set<int>& saving = options_.saving_signals;
  const bool ends_anyway = verdict(now).has_value();
  outcome_ = verdict(now).value_or(outcome_of(request, saving));
  if (saves(request, saving)) return;
  const bool is_saving = asked_ && saves(asked_by_, saving) && request.signal != SIGINT;
  asked_ = now;
  asked_by_ = request;
  if (!ends_anyway) return;
  stop(request.signal, is_saving ? options_.grace : Millis{0}, outcome_->text, out);
}

void Coordinator::on(Instant now, const Timeout&, Actions& out) {
  const auto due = [&](const std::optional<Instant>& deadline) {
    return deadline && now >= *deadline;
  };
  const bool settles = state_ == State::forming || state_ == State::deciding;
  if (settles && due(settle_deadline_)) return give_up_settling(out);
  if (state_ == State::forming && due(next_deadline())) return form(now, out);
  if (state_ == State::deciding && now >= give_up_deciding_at()) return give_up_deciding(out);
  if (state_ == State::deciding && due(undecided_deadline_)) {
    undecided_deadline_.reset();
    out.emplace_back(Note{reason() + ": all nodes must be able to connect to each other"});
  }
  if (state_ != State::running) return;
  if (due(leave_at_)) return stop(SIGTERM, options_.grace, cause_, out);
  if (due(settled_at_)) settle();
  if (due(straggler_deadline_)) name_stragglers(out);
  if (due(last_call_)) consider_joiners(now, out);
  if (saving_ && now >= saving_->until) give_up_saving(out);
}

}  // namespace ddprun
