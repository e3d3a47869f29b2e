// The coordinator: requests to end the job, or one node.
#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/same_request.hpp"
#include "rendezvous/worker_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace ddprun {

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

std::optional<StopRequested> end_asked_in(const News& news) {
  if (const auto* stop = std::get_if<StopRequested>(&news)) return *stop;
  if (const auto* leave = std::get_if<LeaveRequested>(&news)) return StopRequested{leave->signal};
  return std::nullopt;
}

/// Whoever ends the job's processes one by one, such as Kubernetes, may take longer than that. An
/// agent tells a second SIGINT only if it is one: two of a node may arrive at once after an outage.
bool Coordinator::is_same_request(Instant now, const StopRequested& request) const {
  const bool is_other_kind =
      request.signal != asked_by_.signal || request.time_is_up != asked_by_.time_is_up;
  if (!asked_ || is_other_kind) return false;
  const bool is_at_once = now - *asked_ < same_request_patience(request.signal);
  const bool is_first_of_node = !askers_.contains(request.node);
  if (request.signal == SIGINT) return is_at_once && is_first_of_node;
  return is_at_once || is_first_of_node;
}

void Coordinator::note_asked(Instant now, const StopRequested& request) {
  asked_ = now;
  asked_by_ = request;
  askers_.insert(request.node);
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
      note_asked(now, request);
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

/// Replaces the restart that is under way, or is a repeated request.
void Coordinator::stop_sooner(Instant now, const StopRequested& request, Actions& out) {
  if (is_same_request(now, request)) return (void)askers_.insert(request.node);
  const std::set<int>& saving = options_.saving_signals;
  const bool ends_anyway = verdict(now).has_value();
  outcome_ = verdict(now).value_or(outcome_of(request, saving));
  if (saves(request, saving)) return;
  const bool is_first = !asked_ && request.signal != SIGINT;
  const bool is_saving = asked_ && saves(asked_by_, saving) && request.signal != SIGINT;
  note_asked(now, request);
  if (!ends_anyway || is_first) return;  // the workers keep the grace that they have
  stop(request.signal, is_saving ? options_.grace : Millis{0}, outcome_->text, out);
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
  if (!leave_at_) leave_at_ = now + options_.leave_wait;
}

/// Too few would be left: the job stops, and workers have the same time as where it goes on. The
/// process of a coordinator without workers may ask for that by the same signal.
void Coordinator::stop_with_last(Instant now, const LeaveRequested& request, Actions& out) {
  if (state_ == State::deciding) withdraw(now);
  ends_by_leave_ = true;
  note_asked(now, {.signal = request.signal, .node = request.node});
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
  HandOver hand_over{leavers_.nodes(), {{}, gathering_.count_without(aside_)}};
  for (const Member& member : current_.members) {
    const NodeId node = member.offer.node;
    const bool is_there = gathering_.contains(node) || leavers_.contains(node);
    if (!is_there && !lost_.contains(node)) hand_over.legacy.gone.push_back(node);
  }
  out.emplace_back(std::move(hand_over));
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
  const bool is_needed = proposal_ && proposal_->needs(node);
  if (!waits && !is_needed) return leavers_.add(node, request.signal);  // it has yet to join
  if (is_needed) withdraw(now);
  gathering_.remove(node);
  left_out_.erase(node);
  stuck_.erase(node);
  if (state_ != State::running && current_.has_voter_on(node)) {
    leavers_.add(node, request.signal);
    leavers_.stopped(node);
  } else {
    out.emplace_back(FinishJob{node, outcome_of(request), true});
  }
  if (state_ == State::forming) form(now, out);
}

/// Those that have stopped.
void Coordinator::let_leave(Actions& out, std::optional<NodeId> only) {
  for (const auto& [node, signal] : leavers_.take_stopped(only)) {
    const Outcome outcome = outcome_ ? *outcome_ : outcome_of(LeaveRequested{node, signal});
    out.emplace_back(FinishJob{node, outcome, !outcome_ || may_go_on_elsewhere()});
  }
}

/// Nodes that are only lost may live where this coordinator does not hear them, and nobody has
/// asked for their end. So may voters that did not answer it: they can elect another one.
bool Coordinator::may_go_on_elsewhere() const {
  return voters_may_go_on_ || (ends_by_leave_ && !lost_.empty());
}

}  // namespace ddprun
