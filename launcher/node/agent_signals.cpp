// The agent: signals that its process gets, keys at its terminal, and the time limit.
#include "launcher/node/agent.hpp"
#include "launcher/options/stop_options.hpp"
#include "rendezvous/worker_end.hpp"

#include <fmt/format.h>

#include <csignal>
#include <optional>

namespace ddprun {

bool Agent::asks_to_stop(int signal) const {
  return !is_for_workers(signal) || options_.stopping_signals.contains(signal) ||
         options_.leaving_signals.contains(signal) || options_.evicting_signals.contains(signal);
}

/// A witness is no member that the job could go on without.
bool Agent::leaves_by(int signal) const {
  return !options_.witness &&
         (options_.leaving_signals.contains(signal) || options_.evicting_signals.contains(signal));
}

void Agent::on(Instant now, const SignalArrived& arrived, Actions& out) {
  if (arrived.signal == SIGTSTP) return suspend(out);
  if (state_ == State::finished) return hurry(now, arrived.signal, out);
  if (arrived.from_terminal) terminal_signal_ = arrived.signal;
  const bool interrupts = arrived.from_terminal && arrived.signal == SIGINT;
  if (interrupts && leave_to_worker(now, out)) return;
  if (asks_to_stop(arrived.signal)) {
    request_stop(now, arrived.signal, out);
  } else if (state_ == State::running && options_.snapshot_signals.contains(arrived.signal)) {
    out.emplace_back(AskToSave{arrived.signal});
  } else if (state_ == State::running || options_.witness) {
    signals_sent_.insert(arrived.signal);
    out.emplace_back(SignalWorkers{arrived.signal});
  }
}

/// Signals for workers change nothing any more.
void Agent::hurry(Instant now, int signal, Actions& out) const {
  const bool is_repeated = asked_ && says_again(*asked_, now, signal);
  if (asks_to_stop(signal) && !is_repeated) out.emplace_back(HurryEnd{signal});
}

void Agent::request_stop(Instant now, int signal, Actions& out) {
  if (asked_ && says_again(*asked_, now, signal)) return;
  say_request(signal, out);
  asked_ = StopSignal{now, signal};
  asked_to_leave_ = leaves_by(signal);
  if (state_ == State::running) {
    held_.reset();
    deadline_.reset();
  }
  if (!asked_to_leave_) return (void)out.emplace_back(TellCoordinator{StopRequested{signal}});
  const bool may_be_for_all = options_.evicting_signals.contains(signal);
  out.emplace_back(TellCoordinator{LeaveRequested{{}, signal, may_be_for_all}});
}

void Agent::on(Instant, const TimeIsUp&, Actions& out) {
  out.emplace_back(TellCoordinator{StopRequested{.time_is_up = true}});
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
  if (deadline_) *deadline_ = *deadline_ + resumed.stopped_for;
}

/// The shell knows this program alone: it has to stop as well for fg to go on.
void Agent::on(Instant, const WorkerLacksTerminal&, Actions& out) const {
  if (options_.can_be_suspended) out.emplace_back(AskForSuspension{});
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

}  // namespace ddprun
