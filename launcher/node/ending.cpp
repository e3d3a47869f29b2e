#include "launcher/node/ending.hpp"

#include "launcher/failures/failure_details.hpp"
#include "launcher/node/report.hpp"
#include "launcher/system/temporary_folder.hpp"

#include <fmt/format.h>

#include <csignal>
#include <utility>

namespace ddprun {

Ending::Ending(boost::asio::io_context& context, Console& console, const Job& job, Parts parts)
    : console_(console),
      job_(job),
      parts_(parts),
      will_(parts.guard.socket(), {job.meeting.will, job.meeting.credentials}),
      output_(context, console.writers(), parts.records.events_writer(), [this] {
        say_events_are_late();
      }) {}

void Ending::exit(const Outcome& outcome, JobLink& link) {
  link_ = &link;
  settle(outcome);
  if (parts_.guard.is_lost()) return end_without_guard();
  parts_.slurm.job_is_over();  // while other agents are told so, and end
  link.when_told(outcome, [this] {
    parts_.slurm.finish(outcome_, link_->coordinates(), [this](const Outcome& final) {
      settle(final);
      record();
      output_.write_out([this] { report(); });
    });
  });
}

void Ending::settle(const Outcome& outcome) {
  outcome_ = outcome;
  output_.exits_with(is_reported_by_script(job_, told_) ? 0 : outcome.exit_status);
}

/// Once: whoever hurries does it before the outcome is final.
void Ending::record() {
  if (std::exchange(is_recorded_, true)) return;
  facts_ = parts_.workers.facts_of(outcome_);
  parts_.records.job_ends(outcome_, facts_, parts_.progress, link_->newest());
}

/// No process waits for the rest of the output.
void Ending::end_without_guard() {
  record();
  remove_folder(job_.setup.error_folder);
  if (parts_.workers.none_left() && !link_->coordinates()) will_.deliver_here();
  output_.exit_with_files();
}

void Ending::hurry(int signal) {
  if (signal != SIGINT && parts_.slurm.is_queueing_again()) return;
  record();
  output_.exit_soon();
}

void Ending::lose_guard() {
  if (status()) end_without_guard();
}

void Ending::report() const {
  if (outcome_.exit_status == 0) return;
  if (facts_) console_.write(failure_details(outcome_, *facts_));
  if (is_reported_by_script(job_, told_)) return;
  console_.say(fmt::format("exit status {}: {}", outcome_.exit_status, outcome_.text));
}

void Ending::say_events_are_late() const {
  console_.say(
      fmt::format("the last events are lost: {} has not taken them within {} s; see what reads it",
                  job_.options.events,
                  LastOutput::events_patience.count()));
}

}  // namespace ddprun
