#include "launcher/requeue.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <string>

namespace ddprun {
namespace {

SlurmControl slurm_job() {
  SlurmControl control;
  control.job = "12";
  control.restarts_count = 7;  // of the job that this one was submitted from
  control.requeue.executable = "/usr/bin/scontrol";
  return control;
}

Outcome ended(int status) {
  return {status, "so it was", {}};
}

SlurmState restarted(std::int64_t count) {
  return {.restarts_count = count};
}

RequeuePlan plan_for(const Outcome& outcome, const std::optional<SlurmState>& state) {
  return plan_requeue(outcome, 3, slurm_job(), state);
}

TEST_CASE("requeue: only a job that is to be run again, and as often as was said") {
  const RequeuePlan first = plan_for(ended(75), restarted(0));
  CHECK(first == RequeuePlan{ended(75), true, "queueing Slurm job 12 again, 1 of at most 3 times"});
  CHECK(plan_for(ended(75), restarted(2)).go);
  const RequeuePlan spent = plan_for(ended(75), restarted(3));
  CHECK_FALSE(spent.go);
  CHECK(spent.note ==
        "Slurm job 12 was queued again 3 times already, as often as --requeue allows");
  for (const int status : {0, 1, 2, 69, 70, 71, 76, 126, 127, 143}) {
    CHECK(plan_for(ended(status), restarted(0)) == RequeuePlan{ended(status), false, ""});
  }
  CHECK(plan_requeue(ended(75), 0, slurm_job(), restarted(0)) == RequeuePlan{ended(75), false, ""});
}

TEST_CASE("requeue: where Slurm does not answer, its variable says how often it was") {
  CHECK_FALSE(plan_for(ended(75), std::nullopt).go);
  CHECK(plan_requeue(ended(75), 8, slurm_job(), std::nullopt).go);
}

TEST_CASE("requeue: a job that was cancelled stays so") {
  const SlurmState cancelled{.cancelled = true};
  CHECK(plan_for(ended(75), cancelled) ==
        RequeuePlan{ended(75), false, "Slurm job 12 was cancelled, and is not queued again"});
  CHECK(plan_for(ended(143), cancelled) == RequeuePlan{ended(143), false, ""});
}

TEST_CASE("requeue: an end by SIGTERM may be Slurm's wish, unless it is a worker's own") {
  const SlurmState preempted{.preempted = true};
  const RequeuePlan plan = plan_for(ended(143), preempted);
  CHECK(plan.go);
  CHECK(plan.outcome.exit_status == 75);
  CHECK(plan_for(ended(143), restarted(0)) == RequeuePlan{ended(143), false, ""});
  Outcome own = ended(143);
  own.failure = WorkerFailure{"n0", Rank{1}, LocalRank{1}, 71, {WorkerEnd::Kind::killed, SIGTERM}};
  CHECK(plan_for(own, preempted) == RequeuePlan{own, false, ""});
}

TEST_CASE("requeue: Slurm is asked only where its answer matters") {
  CHECK(depends_on_state(ended(143), 0));
  CHECK(depends_on_state(ended(75), 1));
  CHECK_FALSE(depends_on_state(ended(75), 0));
  for (const int status : {0, 1, 76, 130}) CHECK_FALSE(depends_on_state(ended(status), 3));
}

TEST_CASE("requeue: without scontrol that is said") {
  SlurmControl control = slurm_job();
  control.requeue.executable.clear();
  const RequeuePlan plan = plan_requeue(ended(75), 3, control, restarted(0));
  CHECK_FALSE(plan.go);
  CHECK(plan.note == "cannot queue Slurm job 12 again: there is no scontrol on PATH");
}

}  // namespace
}  // namespace ddprun
