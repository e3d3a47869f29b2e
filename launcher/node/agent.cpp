#include "launcher/node/agent.hpp"

#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <limits>
#include <utility>

namespace ddprun {
namespace {

/// Signals that users and batch systems send to whole jobs.
bool sent_to_jobs(int signal) {
  constexpr std::array signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
  return std::ranges::find(signals, signal) != signals.end();
}

}  // namespace

void Agent::start(Actions& out) {
  if (options_.witness) return join(out);
  out.emplace_back(BindStore{});
}

void Agent::on_event(Instant now, const AgentEvent& event, Actions& out) {
  if (state_ == State::finished && !std::holds_alternative<SignalArrived>(event)) return;
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

void Agent::on(Instant, const StoreBound& bound, Actions& out) {
  store_port_ = bound.port;
  store_address_ = bound.address;
  store_tried_ = true;
  join_if_ready(out);
}

/// Joins even so: no store is needed to be told that the job is over.
void Agent::on(Instant, const StoreUnavailable& failed, Actions& out) {
  if (state_ != State::binding) return;
  store_error_ = failed.error.message();
  store_tried_ = true;
  join_if_ready(out);
}

void Agent::on(Instant, const SnapshotSeen& seen, Actions& out) {
  if (state_ != State::binding || !looks_) return;
  looks_ = false;
  snapshot_ = seen.position;
  join_if_ready(out);
}

/// After the end of a generation, when no worker writes any more.
void Agent::bind(Instant now, Actions& out) {
  state_ = State::binding;
  store_tried_ = false;
  snapshot_.reset();
  looks_ = options_.sees_snapshots;
  if (looks_) {
    deadline_ = now + options_.snapshot_patience;
    out.emplace_back(LookAtSnapshot{});
  }
  out.emplace_back(BindStore{});
}

void Agent::join_if_ready(Actions& out) {
  if (state_ == State::binding && store_tried_ && !looks_) join(out);
}

void Agent::join(Actions& out) {
  state_ = State::joined;
  deadline_.reset();
  Join join;
  join.offer.node = node_;
  join.offer.host = options_.host;
  join.offer.address = store_address_;
  join.offer.store_port = store_port_;
  join.offer.store_error = store_error_;
  join.offer.worker_count = options_.worker_count;
  join.offer.addresses = options_.addresses;
  join.done_with = part_.number;
  join.snapshot = snapshot_;
  out.emplace_back(TellCoordinator{join});
}

void Agent::on(Instant, const StartGeneration& start, Actions& out) {
  if (state_ != State::joined) return;  // A1
  part_ = start.part;
  newest_told_ = part_.number;
  has_started_ = true;
  node_ = start.node;
  alive_.clear();
  for (int rank = 0; rank < part_.worker_count; ++rank) alive_.insert(LocalRank{rank});
  signals_sent_.clear();
  interrupted_.reset();
  has_hung_worker_ = false;
  held_.reset();
  reports_save_ = false;
  in_vain_at_.reset();
  state_ = State::running;
  out.emplace_back(SpawnWorkers{part_});
}

void Agent::on(Instant now, const StopGeneration& stop, Actions& out) {
  if (state_ == State::joined && stop.generation > newest_told_) {  // it was never started here
    part_.number = newest_told_ = stop.generation;
    close_store(out);
    return bind(now, out);
  }
  const bool lives = state_ == State::running || state_ == State::stopping;
  if (!lives || stop.generation != part_.number) return;
  say_why(stop, out);
  stop_ = stop;
  if (alive_.empty() || stop.grace <= Millis{0}) return kill_all(now, out);
  state_ = State::stopping;
  deadline_ = now + stop.grace;
  const auto own = terminal_worker();
  if (own && alive_.size() == 1 && stop.signal == terminal_signal_) return;  // it has it already
  out.emplace_back(SignalWorkers{stop.signal});
}

void Agent::on(Instant, const SaveGeneration& save, Actions& out) {
  if (state_ != State::running || save.generation != part_.number) return;
  reports_save_ = true;
  in_vain_at_.reset();
  out.emplace_back(AskToSave{});
}

/// If none can be asked because it ends, its end is told first.
void Agent::on(Instant now, const SaveAnswered& answered, Actions& out) {
  if (answered.step) return report_save(answered.step, out);
  if (reports_save_) in_vain_at_ = now + options_.exit_patience;
}

/// A death that is held says more.
void Agent::report_save(std::optional<std::int64_t> step, Actions& out) {
  in_vain_at_.reset();
  const bool is_awaited = std::exchange(reports_save_, false);
  if (!is_awaited || state_ != State::running || (held_ && !step)) return;
  out.emplace_back(TellCoordinator{SaveReported{node_, part_.number, step}});
}

/// A node whose workers live is not told: it has yet to join, or to say that they are stuck.
void Agent::on(Instant, const FinishJob& finish, Actions& out) {
  if (state_ == State::stuck) {
    Outcome outcome = finish.outcome;
    outcome.exit_status = static_cast<int>(ExitStatus::system_refused);
    if (outcome.text != stuck_text()) outcome.text = stuck_text() + "; the job: " + outcome.text;
    return exit_with(std::move(outcome), out);
  }
  if (state_ != State::binding && state_ != State::joined) return;  // A5
  close_store(out);
  say_none_ran(finish, out);
  exit_with(finish.outcome, out);
}

void Agent::on(Instant now, const WorkerEnded& ended, Actions& out) {
  alive_.erase(ended.local_rank);
  if (state_ != State::running && state_ != State::stopping) return;
  if (state_ == State::stopping && alive_.empty()) return kill_all(now, out);
  // A2; after a delayed report, or one that hangs, these are victims.
  if (state_ == State::stopping || held_ || has_hung_worker_) return;
  if (answers_interrupt(now, ended)) return request_stop(now, SIGINT, out);
  const int signal = ended.end.kind == WorkerEnd::Kind::killed ? ended.end.code : 0;
  const bool by_signal = sent_to_jobs(signal) && !signals_sent_.contains(signal);
  const bool at_terminal = !ended.end.success() && ended.local_rank == options_.terminal.in(part_);
  if (!by_signal && !at_terminal) return report(ended, out);
  held_ = ended;
  deadline_ = now + (by_signal ? options_.own_signal_patience : options_.key_patience);
}

/// It ends with all others, by the stop that the coordinator answers with.
void Agent::on(Instant, const WorkerHung& hung, Actions& out) {
  if (state_ != State::running || held_ || has_hung_worker_) return;
  has_hung_worker_ = true;
  constexpr std::int64_t ms_max = std::numeric_limits<int>::max();
  const int silent_ms = static_cast<int>(std::min(hung.silent.count, ms_max));
  say_hung(hung, out);
  report({hung.local_rank, hung.pid, {WorkerEnd::Kind::hung, silent_ms}}, out);
}

void Agent::on(Instant now, const AllGone&, Actions& out) {
  if (state_ != State::killing && state_ != State::stuck) return;
  deadline_.reset();
  close_store(out);  // A4
  if (guard_lost_) {
    exit_with({static_cast<int>(ExitStatus::internal_error), "the guard process was killed", {}},
              out);
    return;
  }
  if (given_up_) return exit_with(*given_up_, out);
  bind(now, out);
}

void Agent::on(Instant now, const GuardLost&, Actions& out) {
  guard_lost_ = true;  // A3
  if (state_ == State::stuck) return exit_with(stuck_outcome(), out);
  kill_all(now, out);
}

void Agent::on(Instant now, const LeaseEnded&, Actions& out) {
  if (state_ == State::running || state_ == State::stopping) kill_all(now, out);
}

void Agent::on(Instant now, const LifeEnded&, Actions& out) {
  newest_told_ = {};  // a job that is founded again begins anew
  if (state_ == State::running || state_ == State::stopping) kill_all(now, out);
  if (state_ == State::joined) join(out);
  if (state_ == State::stuck) tell_of_stuck(out);
}

void Agent::on(Instant now, const GiveUp& given_up, Actions& out) {
  given_up_ = given_up.outcome;
  if (state_ == State::running || state_ == State::stopping) return kill_all(now, out);
  if (state_ == State::killing) return;
  if (state_ == State::stuck) return exit_with(stuck_outcome(), out);
  close_store(out);
  exit_with(*given_up_, out);
}

std::optional<Instant> Agent::next_deadline() const {
  if (!in_vain_at_ || !deadline_) return in_vain_at_ ? in_vain_at_ : deadline_;
  return std::min(*in_vain_at_, *deadline_);
}

void Agent::on(Instant now, const Timeout&, Actions& out) {
  if (in_vain_at_ && now >= *in_vain_at_) report_save(std::nullopt, out);
  if (!deadline_ || now < *deadline_) return;
  switch (state_) {
    case State::running: {
      deadline_.reset();
      const WorkerEnded held = *std::exchange(held_, std::nullopt);
      report(held, out);
      break;
    }
    case State::stopping:
      out.emplace_back(Note{fmt::format("{} did not end within {} s after {}: killed",
                                        alive_text(),
                                        in_seconds(stop_.grace),
                                        signal_name(stop_.signal))});
      kill_all(now, out);
      break;
    case State::killing:
      if (now - *deadline_ > held_up) {  // perhaps the workers were, too: all were frozen
        deadline_ = now + options_.kill_patience;
        break;
      }
      if (guard_lost_ || given_up_) return exit_with(stuck_outcome(), out);
      state_ = State::stuck;
      deadline_.reset();
      tell_of_stuck(out);
      break;
    case State::binding:
      deadline_.reset();
      looks_ = false;
      join_if_ready(out);
      break;
    case State::joined:
    case State::stuck:
    case State::finished:
      break;
  }
}

void Agent::report(const WorkerEnded& ended, Actions& out) const {
  const Rank rank{part_.first_rank.value + ended.local_rank.value};
  if (ended.end.success()) {
    out.emplace_back(TellCoordinator{WorkerSucceeded{part_.number, rank}});
    return;
  }
  WorkerFailed failed;
  failed.generation = part_.number;
  failed.failure = WorkerFailure{options_.host, rank, ended.local_rank, ended.pid, ended.end};
  out.emplace_back(TellCoordinator{failed});
}

void Agent::kill_all(Instant now, Actions& out) {
  state_ = State::killing;
  held_.reset();
  deadline_ = now + options_.kill_patience;
  out.emplace_back(KillAll{});
}

void Agent::tell_of_stuck(Actions& out) const {
  out.emplace_back(NeedNoLease{});
  out.emplace_back(TellCoordinator{WorkersStuck{node_, part_.number, stuck_text()}});
}

Outcome Agent::stuck_outcome() const {
  return {static_cast<int>(ExitStatus::system_refused), stuck_text(), {}};
}

void Agent::close_store(Actions& out) {
  if (store_port_ != 0) out.emplace_back(CloseStore{});
  store_port_ = 0;
  store_error_.clear();
}

void Agent::exit_with(Outcome outcome, Actions& out) {
  state_ = State::finished;
  deadline_.reset();
  in_vain_at_.reset();
  out.emplace_back(ExitWith{std::move(outcome)});
}

}  // namespace ddprun
