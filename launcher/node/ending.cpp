#include "launcher/node/ending.hpp"

#include "launcher/failures/failure_details.hpp"
#include "launcher/node/report.hpp"
#include "launcher/system/temporary_folder.hpp"

#include <fmt/format.h>

#include <variant>
#include <vector>

namespace ddprun {

Ending::Ending(boost::asio::io_context& context, Console& console, const Job& job, Parts parts)
    : console_(console),
      job_(job),
      parts_(parts),
      will_(parts.guard_socket, {job.meeting.will, job.meeting.credentials}),
      steps_(job.slurm.has_value()),
      output_(context, console.writers(), parts.records.events_writer(), [this] {
        say_events_are_late();
      }) {}

void Ending::exit(const Outcome& outcome, JobLink& link) {
  link_ = &link;
  tell(EndBegins{outcome, !parts_.workers.none_left()});
}

void Ending::lose_guard() {
  tell(GuardDied{!parts_.workers.none_left()});
}

void Ending::tell(const LastStepEvent& event) {
  std::vector<LastStepAction> actions;
  steps_.on_event(event, actions);
  if (const auto& outcome = steps_.outcome()) {
    output_.exits_with(is_reported_by_script(job_, told_) ? 0 : outcome->exit_status);
  }
  for (const LastStepAction& action : actions) {
    std::visit([this](const auto& what) { perform(what); }, action);
  }
}

void Ending::perform(const TellOthers& tell_others) {
  parts_.slurm.job_is_over();
  link_->when_told(tell_others.outcome, [this] { tell(OthersTold{link_->coordinates()}); });
}

void Ending::perform(const EndSteps&) {
  parts_.slurm.finish_steps([this] { tell(StepsEnded{}); });
}

void Ending::perform(const QueueAgain& queue) {
  parts_.slurm.queue_again(queue.outcome,
                           [this](const Outcome& final) { tell(QueueAnswered{final}); });
}

void Ending::perform(const RecordEnd& end) {
  facts_ = parts_.workers.facts_of(end.outcome);
  parts_.records.job_ends(end.outcome, facts_, parts_.progress, link_->newest());
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
  const Outcome& outcome = *steps_.outcome();
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
