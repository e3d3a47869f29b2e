#include "rendezvous/generations/coordinator.hpp"

#include "rendezvous/endpoint_text.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <csignal>
#include <initializer_list>
#include <optional>
#include <utility>
#include <variant>

namespace ddprun {

namespace {

std::optional<Instant> earliest(std::initializer_list<std::optional<Instant>> deadlines) {
  std::optional<Instant> first;
  for (const auto& each : deadlines) {
    if (each && (!first || *each < *first)) first = each;
  }
  return first;
}

}  // namespace

Coordinator::Coordinator(CoordinatorOptions options,
                         const Generation& inherited,
                         const Legacy& legacy,
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
  gathering_.expect(legacy.ready);
  for (const NodeId node : legacy.gone) {
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
  if (join.offer.witness) {
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
  if (leaves && state_ == State::running) {
    let_leave(out);
  } else if (leaves && !was_member && !current_.has_voter_on(node)) {  // it had yet to join
    let_leave(out, node);
  }
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
  if (state_ == State::deciding && proposal_->needs(lost.node)) withdraw(now);
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
  if (leave_at_) {
    out.emplace_back(
        Note{fmt::format("{}, and does not count: {}", describe(failed.failure), cause_)});
    return stop(SIGTERM, options_.grace, cause_, out);
  }
  failure_ = failed.failure;
  std::string why = describe(*failure_);
  if (!verdict(now)) why += ", " + restarts_.next(now);
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
