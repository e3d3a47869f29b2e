#include "launcher/node/ending.hpp"

#include "launcher/node/report.hpp"
#include "launcher/system/temporary_folder.hpp"

#include <fmt/format.h>

#include <csignal>
#include <utility>

namespace ddprun {

Ending::Ending(boost::asio::io_context& context,
               Writers writers,
               std::shared_ptr<Sink> stderr_sink,
               const Job& job,
               Parts parts,
               Say say)
    : console_(writers.console),
      stderr_(std::move(stderr_sink)),
      job_(job),
      parts_(parts),
      say_(std::move(say)),
      will_(parts.guard.socket(), {job.meeting.will, job.meeting.credentials}),
      output_(context, writers, parts.records.events_writer(), [this] { say_events_are_late(); }) {}

/// Nobody waits for this node at the job's end. Where it leaves, its place is free once it is gone.
void Ending::told(const FinishJob& finish) {
  told_ = true;
  if (!finish.leaves) will_.is_for("");
}

void Ending::exit(const Outcome& outcome, JobLink& link) {
  output_.exits_with(outcome.exit_status);
  if (parts_.guard.is_lost()) return end_without_guard(outcome, link);
  parts_.slurm.job_is_over();  // while other agents are told so, and end
  link.when_told(outcome, [this, outcome, &link] {
    parts_.slurm.finish(outcome, link.coordinates(), [this, &link](const Outcome& final) {
      write_out(final, link);
    });
  });
}

void Ending::write_out(const Outcome& final, JobLink& link) {
  output_.exits_with(is_reported_by_script(job_, told_) ? 0 : final.exit_status);
  const auto facts = parts_.workers.facts_of(final);
  parts_.records.job_ends(final, facts, parts_.progress, link.newest());
  output_.write_out([this, final, facts] { report(final, facts); });
}

/// No process waits for the rest of the output.
void Ending::end_without_guard(const Outcome& outcome, JobLink& link) {
  const auto facts = parts_.workers.facts_of(outcome);
  parts_.records.job_ends(outcome, facts, parts_.progress, link.newest());
  remove_folder(job_.setup.error_folder);
  if (parts_.workers.none_left() && !link.coordinates()) will_.deliver_here();
  output_.exit_with_files();
}

void Ending::hurry(int signal) {
  if (signal == SIGINT || !parts_.slurm.is_queueing_again()) output_.exit_soon();
}

void Ending::lose_guard() {
  if (!status()) return;
  remove_folder(job_.setup.error_folder);
  output_.exit_now();
}

void Ending::report(const Outcome& outcome, const std::optional<FailureFacts>& facts) const {
  if (outcome.exit_status == 0) return;
  if (facts) console_.write(stderr_, failure_details(outcome, *facts));
  if (is_reported_by_script(job_, told_)) return;
  say_(fmt::format("exit status {}: {}", outcome.exit_status, outcome.text));
}

void Ending::say_events_are_late() const {
  say_(fmt::format("the last events are lost: {} has not taken them within {} s; see what reads it",
                   job_.options.events,
                   LastOutput::events_patience.count()));
}

}  // namespace ddprun
