#include "launcher/node/agent.hpp"

#include "launcher/options/stop_options.hpp"
#include "launcher/text/text_of_count.hpp"
#include "rendezvous/generations/gathering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

namespace ddprun {
namespace {

/// A timer later than this means that this process was stopped.
constexpr Millis held_up{1'000};

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
  if (state_ == State::finished) return;
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

bool Agent::asks_to_stop(int signal) const {
  return !is_for_workers(signal) || options_.stopping_signals.contains(signal) ||
         options_.leaving_signals.contains(signal) || options_.evicting_signals.contains(signal);
}

/// A witness is no member that the job could go on without.
bool Agent::leaves_by(int signal) const {
  return !options_.witness &&
         (options_.leaving_signals.contains(signal) || options_.evicting_signals.contains(signal));
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
  join.offer.worker_count = options_.witness ? Offer::workers_of_witness : options_.worker_count;
  join.offer.addresses = options_.addresses;
  join.done_with = part_.number;
  join.snapshot = snapshot_;
  out.emplace_back(TellCoordinator{join});
}

void Agent::on(Instant, const StartGeneration& start, Actions& out) {
  if (state_ != State::joined) return;  // A1
  part_ = start.part;
  newest_told_ = part_.number;
  node_ = start.node;
  alive_.clear();
  for (int rank = 0; rank < part_.worker_count; ++rank) alive_.insert(LocalRank{rank});
  signals_sent_.clear();
  interrupted_.reset();
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

/// Who has asked for it here knows; a job of one worker ends at once, and says the same then.
void Agent::say_why(const StopGeneration& stop, Actions& out) const {
  const bool kills = stop.grace <= Millis{0};
  const bool is_said = state_ == State::stopping && stop.why == stop_.why && !kills;
  if (stop.why.empty() || is_said || asked_ || part_.world_size == 1) return;
  if (alive_.empty()) return (void)out.emplace_back(Note{stop.why});
  out.emplace_back(Note{fmt::format("{}; {} {}{}",
                                    stop.why,
                                    kills ? "killing" : "stopping",
                                    text_of_count(static_cast<int>(alive_.size()), "worker"),
                                    part_.group_world_size > 1 ? " here" : "")});
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

void Agent::on(Instant, const FinishJob& finish, Actions& out) {
  if (state_ == State::stuck) {
    Outcome outcome = finish.outcome;
    outcome.exit_status = static_cast<int>(ExitStatus::system_refused);
    if (outcome.text != stuck_text()) outcome.text = stuck_text() + "; the job: " + outcome.text;
    return exit_with(std::move(outcome), out);
  }
  if (state_ != State::joined) return;
  close_store(out);
  exit_with(finish.outcome, out);
}

void Agent::on(Instant now, const WorkerEnded& ended, Actions& out) {
  alive_.erase(ended.local_rank);
  if (state_ != State::running && state_ != State::stopping) return;
  if (state_ == State::stopping && alive_.empty()) return kill_all(now, out);
  if (state_ == State::stopping || held_) return;  // A2; after a delayed report these are victims
  if (answers_interrupt(now, ended)) return request_stop(now, SIGINT, out);
  const int signal = ended.end.kind == WorkerEnd::Kind::killed ? ended.end.code : 0;
  const bool by_signal = sent_to_jobs(signal) && !signals_sent_.contains(signal);
  const bool at_terminal = !ended.end.success() && ended.local_rank == options_.terminal.in(part_);
  if (!by_signal && !at_terminal) return report(ended, out);
  held_ = ended;
  deadline_ = now + (by_signal ? options_.own_signal_patience : options_.key_patience);
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

void Agent::on(Instant now, const SignalArrived& arrived, Actions& out) {
  if (arrived.signal == SIGTSTP) return suspend(out);
  if (arrived.from_terminal) terminal_signal_ = arrived.signal;
  const bool interrupts = arrived.from_terminal && arrived.signal == SIGINT;
  if (interrupts && leave_to_worker(now, out)) return;
  if (asks_to_stop(arrived.signal)) {
    request_stop(now, arrived.signal, out);
  } else if (state_ == State::running && options_.snapshot_signals.contains(arrived.signal)) {
    out.emplace_back(AskToSave{arrived.signal});
  } else if (state_ == State::running) {
    signals_sent_.insert(arrived.signal);
    out.emplace_back(SignalWorkers{arrived.signal});
  }
}

void Agent::request_stop(Instant now, int signal, Actions& out) {
  const bool same_wish = asked_ && now - *asked_ <= options_.same_wish_patience;
  if (same_wish && signal != SIGINT) return;
  say_request(signal, out);
  asked_ = now;
  asked_to_leave_ = leaves_by(signal);
  if (state_ == State::running) {
    held_.reset();
    deadline_.reset();
  }
  if (!asked_to_leave_) return (void)out.emplace_back(TellCoordinator{StopRequested{signal}});
  const bool may_be_for_all = options_.evicting_signals.contains(signal);
  out.emplace_back(TellCoordinator{LeaveRequested{{}, signal, may_be_for_all}});
}

std::optional<LocalRank> Agent::terminal_worker() const {
  const auto worker = options_.terminal.in(part_);
  return worker && alive_.contains(*worker) ? worker : std::nullopt;
}

/// Ctrl-C is for a worker that has the terminal, which may be in a debugger, unless it is pressed
/// as by somebody who wants the end.
bool Agent::leave_to_worker(Instant now, Actions& out) {
  constexpr int presses_max = 2;
  const auto worker = terminal_worker();
  if (state_ != State::running || asked_ || !worker) return false;
  if (now - insists_since_ > options_.insistence) insists_ = 0;
  if (insists_ == 0) insists_since_ = now;
  if (++insists_ > presses_max) return false;
  if (!interrupted_) {
    out.emplace_back(
        Note{fmt::format("ctrl-C goes to rank {}, which has the terminal; three times "
                         "within {} s stops the job",
                         part_.first_rank.value + worker->value,
                         in_seconds(options_.insistence))});
  }
  interrupted_ = now;
  return true;
}

/// One that ends well, as after "continue" in a debugger, has done its work.
bool Agent::answers_interrupt(Instant now, const WorkerEnded& ended) const {
  if (ended.end.success() || !interrupted_ || now - *interrupted_ > options_.interrupt_patience)
    return false;
  return ended.local_rank == options_.terminal.in(part_);
}

/// A node that other nodes wait for cannot be stopped without being lost; the terminal has stopped
/// the worker that has it.
void Agent::suspend(Actions& out) const {
  if (options_.can_be_suspended) return (void)out.emplace_back(Suspend{});
  if (terminal_worker()) out.emplace_back(SignalWorkers{SIGCONT});
  out.emplace_back(
      Note{"ctrl-Z is ignored: the other nodes would take a node that stops for lost"});
}

void Agent::on(Instant, const Resumed& resumed, Actions&) {
  if (deadline_) *deadline_ = *deadline_ + resumed.after;
}

/// That the job is to end, while workers live here.
void Agent::say_request(int signal, Actions& out) const {
  const bool has_workers = state_ == State::running || state_ == State::stopping;
  const bool others_stop = state_ == State::joined && !why_it_waits().empty();
  if (!has_workers && !others_stop && !leaves_by(signal)) return;
  const bool is_first = !asked_ || asked_to_leave_;
  if (!is_first && signal != SIGINT) return;
  const char* const what = !is_first           ? "killing the workers"
                           : leaves_by(signal) ? "this node asks to leave the job"
                           : signal == SIGINT  ? "stopping the job; once more kills the workers"
                                               : "stopping the job";
  out.emplace_back(Note{fmt::format("{}: {}", signal_name(signal), what)});
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
  out.emplace_back(TellCoordinator{WorkersStuck{node_, part_.number, stuck_text()}});
}

/// "rank 2 to end, or SIGKILL in 7 s; n3 was lost: …"
std::string Agent::waits_for(Instant now) const {
  if (state_ == State::joined) {
    return "the coordinator to start a generation with this node" + why_it_waits();
  }
  if (state_ != State::stopping) return alive_text() + " to end after SIGKILL";
  const double left = in_seconds(std::max(*deadline_ - now, Millis{0}));
  return fmt::format("{} to end, or SIGKILL in {:.0f} s{}", alive_text(), left, why_it_waits());
}

/// Why the newest generation here was stopped.
std::string Agent::why_it_waits() const {
  const bool was_stopped = stop_.generation == part_.number && !stop_.why.empty();
  return was_stopped ? "; " + stop_.why : "";
}

/// "rank 2, 3 and 1 more"
std::string Agent::alive_text() const {
  std::vector<std::string> ranks;
  for (const LocalRank rank : alive_) {
    ranks.push_back(std::to_string(part_.first_rank.value + rank.value));
  }
  return ranks.empty() ? "processes that workers have started" : "rank " + few_of(ranks);
}

/// "rank 2, 3 of generation 5 on n1: still there 5 s after SIGKILL, ...".
std::string Agent::stuck_text() const {
  return fmt::format(
      "{} of generation {} on {}: still there {} s after SIGKILL, stuck inside the kernel, on a "
      "device or a file system",
      alive_text(),
      part_.number.value,
      options_.host,
      in_seconds(options_.kill_patience));
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
