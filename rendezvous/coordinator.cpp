#include "rendezvous/coordinator.hpp"

#include "rendezvous/assert.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <csignal>

namespace ddprun {

void Coordinator::on_event(Instant now, const CoordinatorEvent& event, Actions& out) {
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

std::optional<Instant> Coordinator::next_deadline() const {
  return straggler_deadline_;
}

std::string Coordinator::reason() const {
  switch (state_) {
    case State::forming:
      return fmt::format("waiting: {} of {} nodes joined", joined_.size(), options_.node_count);
    case State::running:
      return fmt::format("generation {} runs: {} of {} workers have ended",
                         current_.number.value,
                         succeeded_.size(),
                         current_.world_size());
    case State::ending:
      return fmt::format("generation {} ends: {} of {} nodes have stopped",
                         current_.number.value,
                         joined_.size(),
                         current_.members.size());
    case State::finished:
      break;
  }
  return outcome_->text;
}

void Coordinator::on(Instant, const Join& join, Actions& out) {
  if (state_ == State::finished) {
    out.emplace_back(FinishJob{join.offer.node, *outcome_});
    return;
  }
  if (state_ == State::running || join.done_with < current_.number) return;  // not one who stopped
  joined_[join.offer.node] = join.offer;
  const auto needed = static_cast<std::size_t>(options_.node_count);
  if (joined_.size() < needed) return;
  if (const Offer& first = joined_.begin()->second; !outcome_ && first.store_port == 0) {
    outcome_ = Outcome{static_cast<int>(ExitStatus::system_refused), first.store_error, {}};
  }
  outcome_ ? finish(out) : start(out);
}

void Coordinator::on(Instant, const WorkerFailed& failed, Actions& out) {
  if (state_ != State::running || failed.generation != current_.number) return;  // C5
  ++failures_;
  const std::string blame = describe(failed.failure);
  const bool executable = failed.failure.end.kind != WorkerEnd::Kind::not_executed;
  if (executable && failures_ <= options_.restarts_max) {
    next_cause_ = fmt::format("restart {} of {}: {}", failures_, options_.restarts_max, blame);
  } else {
    const std::string spent =
        options_.restarts_max == 0 || !executable
            ? std::string()
            : fmt::format(", after {} of {} restarts", failures_ - 1, options_.restarts_max);
    outcome_ = Outcome{exit_status_of(failed.failure.end), blame + spent, failed.failure};
  }
  stop(SIGTERM, options_.restart_grace, out);
}

void Coordinator::on(Instant now, const WorkerSucceeded& succeeded, Actions& out) {
  if (state_ != State::running || succeeded.generation != current_.number) return;
  if (succeeded_.empty()) straggler_deadline_ = now + options_.straggler_after;
  succeeded_.insert(succeeded.rank);
  if (static_cast<int>(succeeded_.size()) < current_.world_size()) return;
  outcome_ = Outcome{0, "all workers ended with success", {}};
  stop(SIGTERM, Millis{0}, out);  // what they left behind
}

void Coordinator::on(Instant, const StopRequested& request, Actions& out) {
  const Outcome stopped{128 + request.signal, "stopped by " + signal_name(request.signal), {}};
  switch (state_) {
    case State::forming:
      outcome_ = stopped;
      finish(out);
      break;
    case State::running:
      outcome_ = stopped;
      stop(request.signal, options_.grace, out);
      break;
    case State::ending:
      if (outcome_) {
        stop(request.signal, Millis{0}, out);
      } else {
        outcome_ = stopped;  // instead of the restart that was under way
      }
      break;
    case State::finished:
      break;
  }
}

void Coordinator::on(Instant now, const Timeout&, Actions& out) {
  if (!straggler_deadline_ || now < *straggler_deadline_) return;
  straggler_deadline_.reset();
  std::string ranks;
  for (int rank = 0; rank < current_.world_size(); ++rank) {
    if (!succeeded_.contains(Rank{rank}))
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
  }
  out.emplace_back(Note{fmt::format(
      "{:.0f} s after the first success {} of {} workers have ended; still running: rank {}",
      static_cast<double>(options_.straggler_after.count) / 1000.0,
      succeeded_.size(),
      current_.world_size(),
      ranks)});
}

void Coordinator::start(Actions& out) {
  Generation next;
  next.number = GenerationNumber{current_.number.value + 1};  // C2
  next.restart_count = static_cast<int>(current_.number.value);
  next.cause = next_cause_;
  int rank = 0;
  for (const auto& [node, offer] : joined_) {  // C3: a map is in order of nodes
    next.members.push_back({offer, Rank{rank}});
    rank += offer.worker_count;
  }
  DDPRUN_ASSERT(rank > 0);
  joined_.clear();
  succeeded_.clear();
  current_ = std::move(next);
  state_ = State::running;
  for (const Member& member : current_.members) {
    out.emplace_back(StartGeneration{member.offer.node, current_});
  }
}

void Coordinator::stop(int signal, Millis grace, Actions& out) {
  state_ = State::ending;
  straggler_deadline_.reset();
  for (const Member& member : current_.members) {
    if (joined_.contains(member.offer.node)) continue;
    out.emplace_back(StopGeneration{member.offer.node, current_.number, signal, grace});
  }
}

void Coordinator::finish(Actions& out) {
  DDPRUN_ASSERT(outcome_.has_value());
  state_ = State::finished;
  for (const auto& [node, offer] : joined_) out.emplace_back(FinishJob{node, *outcome_});
}

}  // namespace ddprun
