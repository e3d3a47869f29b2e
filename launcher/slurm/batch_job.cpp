#include "launcher/slurm/batch_job.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <utility>
#include <variant>

namespace ddprun {
namespace {

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
      end_(context,
           EndWatch({.before_end = options.before_end.value_or(Millis{})}),
           [this](const EndAction& action) {
             std::visit([this](const auto& what) { perform(what); }, action);
           }),
      ask_end_(context, writer, user_signals),
      ask_slurm_(context, writer, user_signals) {}

void BatchJob::watch() {
  if (watches_ || !options_.before_end) return;
  watches_ = true;
  if (slurm_.ask_end.executable.empty() && !slurm_.end_time) {
    return handlers_.on_note(
        "squeue not found on PATH, so the time limit is unknown and workers get no warning "
        "before it; add Slurm's bin directory to PATH");
  }
  end_.start(now(), left_until(slurm_.end_time));
}

void BatchJob::on_child(const EndedChild& child) {
  ask_end_.on_child(child);
  ask_slurm_.on_child(child);
}

void BatchJob::perform(const AskForEnd& question) {
  if (slurm_.ask_end.executable.empty()) return answer({false, "squeue not found on PATH"});
  if (!handlers_.may_start()) return answer({false, "processes are being ended"});
  const auto on_end = [this](const CommandRun::End& end) { answer(end); };
  ask_end_.start(slurm_.ask_end, slurm_.environment, question.patience, on_end);
}

/// Posted, never called inline, so callers see one ordering.
void BatchJob::answer(const CommandRun::End& end) {
  EndAnswer answer{std::nullopt, end.text};
  const auto told = end.success ? parse_end_time(end.text) : std::nullopt;
  if (told) answer.left = left_until(*told);
  if (end.success && !told) answer.why = fmt::format("squeue says '{}'", end.text);
  boost::asio::post(context_, [this, answer] { end_.tell(answer); });
}

void BatchJob::perform(const StopJob& stop) const {
  handlers_.on_note(
      fmt::format("Slurm ends job {} in {:.0f} s: workers get SIGTERM, so that they save; see "
                  "--stop-before-end",
                  slurm_.job,
                  in_seconds(stop.left)));
  handlers_.on_stop();
}

void BatchJob::perform(const Note& note) const {
  handlers_.on_note(note.text);
}

void BatchJob::finish(const Outcome& outcome, OnFinished done) {
  done_ = std::move(done);
  requeue_.emplace(outcome, options_.requeues_max, slurm_);
  std::vector<RequeueAction> first;
  requeue_->start(first);
  perform(first);
}

void BatchJob::perform(const std::vector<RequeueAction>& actions) {
  for (const RequeueAction& action : actions) {
    std::visit([this](const auto& what) { perform(what); }, action);
  }
}

/// If the job is queued again, Slurm's end of this step may kill its scontrol, whether or not
/// Slurm has received its request.
void BatchJob::perform(const AskSlurm& question) {
  const auto on_end = [this](const CommandRun::End& end) {
    std::vector<RequeueAction> actions;
    requeue_->on_event({end.success, end.text}, actions);
    perform(actions);
  };
  ask_slurm_.start(question.command, slurm_.environment, question.patience, on_end);
}

void BatchJob::perform(const LeaveJob& leave) {
  std::exchange(done_, nullptr)(leave.outcome);
}

}  // namespace ddprun
