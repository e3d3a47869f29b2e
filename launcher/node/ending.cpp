#include "launcher/node/ending.hpp"

#include "launcher/failures/failure_details.hpp"
#include "launcher/node/report.hpp"
#include "launcher/system/temporary_folder.hpp"

#include <fmt/format.h>

#include <variant>

namespace ddprun {

Ending::Ending(boost::asio::io_context& context, Console& console, const Job& job, Parts parts)
    : console_(console),
      job_(job),
      parts_(parts),
      will_(parts.guard_socket, {job.meeting.will, job.meeting.credentials}),
      output_(context, console.writers(), parts.records.events_writer(), [this] {
        say_events_are_late();
      }) {}

void Ending::perform(const LastStepAction& action) {
  if (const auto& outcome = parts_.node.machine().outcome()) {
    output_.exits_with(is_reported_by_script(job_, told_) ? 0 : outcome->exit_status);
  }
  std::visit([this](const auto& what) { perform(what); }, action);
}

void Ending::perform(const TellOthers&) {
  parts_.slurm.job_is_over();
}

void Ending::perform(const EndSteps&) {
  parts_.slurm.finish_steps([this] { parts_.node.tell(LastStepAnswer(StepsEnded{})); });
}

void Ending::perform(const QueueAgain& queue) {
  parts_.slurm.queue_again(queue.outcome, [this](const Outcome& final) {
    parts_.node.tell(LastStepAnswer(QueueAnswered{final}));
  });
}

void Ending::perform(const RecordEnd& end) {
  facts_ = parts_.workers.facts_of(end.outcome);
  const Coordinator* coordinator = parts_.node.machine().coordinator();
  const Generation* newest = coordinator == nullptr ? nullptr : &coordinator->newest();
  parts_.records.job_ends(end.outcome, facts_, parts_.progress, newest);
}

void Ending::perform(const WriteOut&) {
  output_.write_out([this] { report(); });
}

void Ending::perform(const EndSoon&) {
  output_.exit_soon();
}

void Ending::perform(const DeliverWill&) {
  will_.deliver_here();
}

void Ending::perform(const EndWithFiles&) {
  remove_folder(job_.setup.error_folder);
  output_.exit_with_files();
}

void Ending::report() const {
  const Outcome& outcome = *parts_.node.machine().outcome();
  if (outcome.exit_status == 0) return;
  if (facts_) console_.write(failure_details(outcome, *facts_));
  if (is_reported_by_script(job_, told_)) return;
  console_.say(fmt::format("exit status {}: {}", outcome.exit_status, outcome.text));
}

void Ending::say_events_are_late() const {
  console_.say(
      fmt::format("the last events are lost: {} has not taken them within {} s; see what reads it",
                  job_.options.events,
                  LastOutput::events_patience.count()));
}

}  // namespace ddprun
