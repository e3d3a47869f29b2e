#include "rendezvous/coordinator.hpp"

#include "rendezvous/assert.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace ddprun {

void Coordinator::on_event(Instant now, const CoordinatorEvent& event, Actions& out) {
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

std::optional<Instant> Coordinator::next_deadline() const {
  switch (state_) {
    case State::forming:
      return gathering_.next_deadline();
    case State::running:
      if (straggler_deadline_ && last_call_) return std::min(*straggler_deadline_, *last_call_);
      return straggler_deadline_ ? straggler_deadline_ : last_call_;
    case State::ending:
    case State::finished:
      break;
  }
  return std::nullopt;
}

std::string Coordinator::reason() const {
  switch (state_) {
    case State::forming:
      return fmt::format("waiting: {} of {} nodes joined",
                         gathering_.ready().size(),
                         options_.gathering.nodes_max);
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

/// Whether workers of the current generation may live on `node`.
bool Coordinator::lives_on(NodeId node) const {
  const bool started = state_ == State::running || state_ == State::ending;
  return started && current_.member_on(node) != nullptr && !stopped_.contains(node);
}

void Coordinator::on(Instant now, const Join& join, Actions& out) {
  const NodeId node = join.offer.node;
  if (state_ == State::finished) {
    out.emplace_back(FinishJob{node, *outcome_});
    return;
  }
  if (lives_on(node) && join.done_with < current_.number) return;  // not one who stopped
  const bool stopped_unasked = state_ == State::running && lives_on(node);
  if (lives_on(node)) stopped_.insert(node);
  gathering_.add(join.offer);
  if (stopped_unasked) {
    interrupt(fmt::format("{} was cut off and stopped its workers", join.offer.host), out);
  } else if (state_ == State::running) {
    return consider_joiners(now, out);
  }
  state_ == State::ending ? conclude(now, out) : form(now, out);
}

void Coordinator::on(Instant now, const NodeLost& lost, Actions& out) {
  if (state_ == State::finished) return;
  const Member* member = lives_on(lost.node) ? current_.member_on(lost.node) : nullptr;
  gathering_.remove(lost.node);
  if (member != nullptr) {
    stopped_.insert(lost.node);
    member_lost_ = true;
    interrupt(fmt::format("{} was lost: {}", member->offer.host, lost.why), out);
  }
  if (state_ == State::ending) conclude(now, out);
  if (state_ == State::forming) form(now, out);
}

void Coordinator::on(Instant, const WorkerFailed& failed, Actions& out) {
  if (state_ != State::running || failed.generation != current_.number) return;  // C5
  failure_ = failed.failure;
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
      if (verdict()) stop(request.signal, Millis{0}, out);
      outcome_ = verdict().value_or(stopped);  // instead of the restart that was under way
      break;
    case State::finished:
      break;
  }
}

void Coordinator::on(Instant now, const Timeout&, Actions& out) {
  const auto due = [&](const std::optional<Instant>& deadline) {
    return deadline && now >= *deadline;
  };
  if (state_ == State::forming && due(gathering_.next_deadline())) return form(now, out);
  if (state_ != State::running) return;
  if (due(straggler_deadline_)) name_stragglers(out);
  if (due(last_call_)) consider_joiners(now, out);
}

/// Ends the generation for the nodes that joined while it ran, once no more need to be waited for.
void Coordinator::consider_joiners(Instant now, Actions& out) {
  const auto room =
      static_cast<std::size_t>(options_.gathering.nodes_max) - current_.members.size();
  if (options_.join_policy != JoinPolicy::now || room == 0) return;
  if (!last_call_) last_call_ = now + options_.gathering.last_call;
  if (gathering_.ready().size() < room && now < *last_call_) return;
  interrupt(hosts_ready() + " joined", out);
}

std::string Coordinator::hosts_ready() const {
  constexpr std::size_t named_max = 8;
  std::string hosts;
  std::size_t count = 0;
  for (const auto& [node, offer] : gathering_.ready()) {
    if (++count <= named_max) hosts += (hosts.empty() ? "" : ", ") + offer.host;
  }
  if (count > named_max) hosts += fmt::format(" and {} more", count - named_max);
  return hosts.empty() ? "none" : hosts;
}

/// Ends the generation for a reason that spends no budget. An end that has begun only changes its
/// cause.
void Coordinator::interrupt(std::string cause, Actions& out) {
  cause_ = std::move(cause);
  if (state_ == State::running) stop(SIGTERM, options_.restart_grace, out);
}

void Coordinator::stop(int signal, Millis grace, Actions& out) {
  state_ = State::ending;
  straggler_deadline_.reset();
  last_call_.reset();
  for (const Member& member : current_.members) {
    if (!lives_on(member.offer.node)) continue;
    out.emplace_back(StopGeneration{member.offer.node, current_.number, signal, grace});
  }
}

/// How the job ends after this generation, nothing if another one follows.
std::optional<Outcome> Coordinator::verdict() const {
  if (outcome_ || !failure_) return outcome_;
  const std::string blame = describe(*failure_);
  const int status = exit_status_of(failure_->end);
  if (failure_->end.kind == WorkerEnd::Kind::not_executed) return Outcome{status, blame, failure_};
  if (member_lost_ || failures_ < options_.restarts_max) return std::nullopt;
  const std::string spent =
      options_.restarts_max == 0
          ? std::string()
          : fmt::format(", after {} of {} restarts", failures_, options_.restarts_max);
  return Outcome{status, blame + spent, failure_};
}

/// Once no member lives any more: only now is it known what the failures came from.
void Coordinator::conclude(Instant now, Actions& out) {
  if (stopped_.size() < current_.members.size()) return;
  outcome_ = verdict();
  if (outcome_) return finish(out);
  if (failure_ && !member_lost_) {
    ++failures_;
    cause_ =
        fmt::format("restart {} of {}: {}", failures_, options_.restarts_max, describe(*failure_));
  }
  state_ = State::forming;
  form(now, out);
}

void Coordinator::form(Instant now, Actions& out) {
  const bool first = current_.number == GenerationNumber{};
  switch (first ? gathering_.ask_first(now) : gathering_.ask_next(now)) {
    case Gathering::Answer::wait:
      return say_who_is_here(out);
    case Gathering::Answer::start:
      return start(out);
    case Gathering::Answer::give_up:
      return give_up(out);
  }
}

/// When twice as many have joined as the last time.
void Coordinator::say_who_is_here(Actions& out) {
  const std::size_t count = gathering_.ready().size();
  if (count < 2 * hosts_told_ || count == 0) return;
  hosts_told_ = count;
  out.emplace_back(Note{fmt::format("{}: {}", reason(), hosts_ready())});
}

void Coordinator::start(Actions& out) {
  Generation next;
  next.number = GenerationNumber{current_.number.value + 1};  // C2
  next.restart_count = static_cast<int>(current_.number.value);
  next.cause = cause_;
  int rank = 0;
  for (const Offer& offer : gathering_.take(current_)) {  // C3: it is in order of nodes
    next.members.push_back({offer, Rank{rank}});
    rank += offer.worker_count;
  }
  DDPRUN_ASSERT(rank > 0);
  if (const Offer& head = next.members.front().offer; head.store_port == 0) {
    outcome_ = Outcome{static_cast<int>(ExitStatus::system_refused), head.store_error, {}};
    for (const Member& member : next.members) gathering_.add(member.offer);
    return finish(out);
  }
  hosts_told_ = 0;
  stopped_.clear();
  member_lost_ = false;
  succeeded_.clear();
  failure_.reset();
  current_ = std::move(next);
  state_ = State::running;
  for (Part& part : current_.parts()) {
    const Member& member = current_.members[static_cast<std::size_t>(part.group_rank)];
    out.emplace_back(StartGeneration{member.offer.node, std::move(part)});
  }
}

void Coordinator::give_up(Actions& out) {
  const bool first = current_.number == GenerationNumber{};
  const std::string missing = fmt::format("{} of at least {} nodes joined: {}",
                                          gathering_.ready().size(),
                                          options_.gathering.nodes_min,
                                          hosts_ready());
  outcome_ = first ? Outcome{static_cast<int>(ExitStatus::rendezvous_unavailable), missing, {}}
                   : Outcome{static_cast<int>(ExitStatus::run_again),
                             fmt::format("{}; {}", cause_, missing),
                             {}};
  finish(out);
}

void Coordinator::name_stragglers(Actions& out) {
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

void Coordinator::finish(Actions& out) {
  DDPRUN_ASSERT(outcome_.has_value());
  state_ = State::finished;
  for (const auto& [node, offer] : gathering_.ready()) {
    out.emplace_back(FinishJob{node, *outcome_});
  }
}

}  // namespace ddprun
