#include "launcher/batch_job.hpp"

#include "launcher/clock.hpp"
#include "launcher/requeue.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <utility>
#include <variant>

namespace ddprun {
namespace {

/// When the job is over: Slurm may have sent SIGTERM, and soon SIGKILL.
constexpr std::chrono::seconds answer_patience{10};

TimeLeft left_until(const EndTime& end) {
  if (!end) return std::nullopt;
  constexpr std::int64_t year_s = 366 * 24 * 3600;
  return Millis{std::clamp<std::int64_t>(*end - std::time(nullptr), 0, year_s) * 1000};
}

}  // namespace

BatchJob::BatchJob(boost::asio::io_context& context,
                   Writer& writer,
                   const sigset_t& user_signals,
                   SlurmControl slurm,
                   const StopOptions& options,
                   Handlers handlers)
    : context_(context),
      slurm_(std::move(slurm)),
      options_(options),
      handlers_(std::move(handlers)),
      end_({.before_end = options.before_end}),
      timer_(context, [this] { dispatch(Timeout{}); }),
      ask_end_(context, writer, user_signals),
      last_(context, writer, user_signals) {}

void BatchJob::watch() {
  if (watches_ || options_.before_end <= Millis{0}) return;
  watches_ = true;
  if (slurm_.ask_end.executable.empty() && !slurm_.end_time) {
    return handlers_.on_note(
        "cannot learn when Slurm ends this job, so it is not stopped before "
        "that: there is no squeue on PATH; add the folder of Slurm's commands");
  }
  std::vector<EndAction> first;
  end_.start(now(), left_until(slurm_.end_time), first);
  perform(first);
}

void BatchJob::on_child(const EndedChild& child) {
  ask_end_.on_child(child);
  last_.on_child(child);
}

void BatchJob::dispatch(const EndEvent& event) {
  std::vector<EndAction> actions;
  end_.on_event(now(), event, actions);
  perform(actions);
}

void BatchJob::perform(const std::vector<EndAction>& actions) {
  for (const EndAction& action : actions) {
    std::visit([this](const auto& what) { on(what); }, action);
  }
  timer_.arm(end_.next_deadline());
}

void BatchJob::on(const AskForEnd&) {
  if (slurm_.ask_end.executable.empty()) return answer({false, "there is no squeue on PATH"});
  if (!handlers_.may_start()) return answer({false, "processes are being ended"});
  const auto on_end = [this](const CommandRun::End& end) { answer(end); };
  ask_end_.start(slurm_.ask_end, slurm_.environment, answer_patience, on_end);
}

/// Later, like any answer.
void BatchJob::answer(const CommandRun::End& end) {
  EndAnswer answer{std::nullopt, end.text};
  const auto told = end.success ? parse_end_time(end.text) : std::nullopt;
  if (told) answer.left = left_until(*told);
  if (end.success && !told) answer.why = fmt::format("squeue says '{}'", end.text);
  boost::asio::post(context_, [this, answer] { dispatch(answer); });
}

void BatchJob::on(const StopJob& stop) const {
  handlers_.on_note(
      fmt::format("Slurm ends job {} in {:.0f} s: workers get SIGTERM, so that they save; see "
                  "--stop-before-end",
                  slurm_.job,
                  in_seconds(stop.left)));
  handlers_.on_stop();
}

void BatchJob::on(const Note& note) const {
  handlers_.on_note(note.text);
}

void BatchJob::finish(const Outcome& outcome, OnFinished done) {
  done_ = std::move(done);
  if (!may_be_preempted(outcome) || slurm_.ask_preempted.executable.empty()) {
    return ask_state(outcome);
  }
  const auto on_end = [this, outcome](const CommandRun::End& end) {
    ask_state(end.success && says_preempted(end.text) ? preempted_outcome() : outcome);
  };
  last_.start(slurm_.ask_preempted, slurm_.environment, answer_patience, on_end);
}

void BatchJob::ask_state(const Outcome& outcome) {
  const bool asks =
      may_be_requeued(outcome, options_.requeues_max) && !slurm_.ask_state.executable.empty();
  if (!asks) return requeue_if_planned(outcome, std::nullopt);
  const auto on_end = [this, outcome](const CommandRun::End& end) {
    requeue_if_planned(outcome, end.success ? parse_state(end.text) : std::nullopt);
  };
  last_.start(slurm_.ask_state, slurm_.environment, answer_patience, on_end);
}

void BatchJob::requeue_if_planned(const Outcome& outcome, const std::optional<SlurmState>& state) {
  constexpr std::chrono::seconds patience{60};
  const RequeuePlan plan = plan_requeue(outcome, options_.requeues_max, slurm_, state);
  if (!plan.note.empty()) handlers_.on_note(plan.note);
  if (!plan.go) return std::exchange(done_, nullptr)(outcome);
  const auto on_end = [this, outcome](const CommandRun::End& end) { requeued(outcome, end); };
  last_.start(slurm_.requeue, slurm_.environment, patience, on_end);
}

/// The end of a step takes its scontrol along, which has been heard by then or not.
void BatchJob::requeued(const Outcome& outcome, const CommandRun::End& end) {
  if (!end.success) {
    handlers_.on_note(
        fmt::format("Slurm may not queue job {} again: scontrol: {}; see --requeue "
                    "of sbatch",
                    slurm_.job,
                    end.text));
  }
  std::exchange(done_, nullptr)(outcome);
}

}  // namespace ddprun
