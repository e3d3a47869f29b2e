#include "launcher/slurm/requeue.hpp"

#include "launcher/text/text_of_count.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <csignal>
#include <utility>

namespace ddprun {
namespace {

constexpr int run_again = static_cast<int>(ExitStatus::run_again);

// Slurm may have sent SIGTERM, and soon SIGKILL; the orders to it are worth this wait.
constexpr Millis question_patience{10'000};
constexpr Millis order_patience{60'000};

/// Slurm sends SIGTERM to make room for another job, as scancel does, and does not queue a job
/// again that then ends by itself.
bool may_be_preempted(const Outcome& outcome) {
  return outcome.exit_status == 128 + SIGTERM && !outcome.failure;
}

Outcome preempted_outcome() {
  return {run_again,
          "stopped by SIGTERM, since Slurm preempted the job; what was saved is kept: run again",
          {}};
}

bool is_on_path(const Command& command) {
  return !command.executable.empty();
}

}  // namespace

Requeue::Requeue(Outcome outcome, int requeues_max, SlurmControl slurm)
    : outcome_(std::move(outcome)), requeues_max_(requeues_max), slurm_(std::move(slurm)) {}

void Requeue::start(Actions& out) {
  if (!may_be_preempted(outcome_) || !is_on_path(slurm_.ask_preempted)) return ask_state(out);
  ask(State::asking_preempted, slurm_.ask_preempted, question_patience, out);
}

void Requeue::on_event(const SlurmAnswer& answer, Actions& out) {
  switch (state_) {
    case State::asking_preempted:
      if (answer.success && says_preempted(answer.text)) outcome_ = preempted_outcome();
      return ask_state(out);
    case State::asking_state:
      return queue_again(answer.success ? parse_state(answer.text) : std::nullopt, out);
    case State::queueing:
      if (!answer.success) {
        out.emplace_back(Note{
            fmt::format("Slurm does not queue job {} again: scontrol: {}; see --requeue of sbatch",
                        slurm_.job,
                        answer.text)});
      }
      return leave(out);
    case State::left:
      return;
  }
}

void Requeue::ask(State state, const Command& command, Millis patience, Actions& out) {
  state_ = state;
  out.emplace_back(AskSlurm{command, patience});
}

void Requeue::ask_state(Actions& out) {
  if (outcome_.exit_status != run_again || requeues_max_ == 0) return leave(out);
  if (!is_on_path(slurm_.ask_state)) return queue_again(std::nullopt, out);
  ask(State::asking_state, slurm_.ask_state, question_patience, out);
}

void Requeue::queue_again(const std::optional<SlurmState>& state, Actions& out) {
  const std::int64_t restarts_count = state ? state->restarts_count : slurm_.restarts_count;
  if (const auto reason = reason_against(restarts_count, state && state->is_ended)) {
    out.emplace_back(Note{*reason});
    return leave(out);
  }
  out.emplace_back(Note{fmt::format("queueing Slurm job {} again, {} of at most {} times",
                                    slurm_.job,
                                    restarts_count + 1,
                                    requeues_max_)});
  ask(State::queueing, slurm_.requeue, order_patience, out);
}

std::optional<std::string> Requeue::reason_against(std::int64_t restarts_count,
                                                   bool is_ended) const {
  if (is_ended) {
    return fmt::format(
        "Slurm job {} was cancelled, or reached its time limit: it is not queued again",
        slurm_.job);
  }
  if (restarts_count >= requeues_max_) {
    return fmt::format("Slurm job {} was queued again {} already, as often as --requeue allows",
                       slurm_.job,
                       text_of_count(restarts_count, "time"));
  }
  if (!is_on_path(slurm_.requeue)) {
    return fmt::format(
        "cannot queue Slurm job {} again: scontrol not found on PATH; add Slurm's bin directory to "
        "PATH",
        slurm_.job);
  }
  return std::nullopt;
}

void Requeue::leave(Actions& out) {
  state_ = State::left;
  out.emplace_back(LeaveJob{outcome_});
}

}  // namespace ddprun
