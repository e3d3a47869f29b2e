#include "launcher/requeue.hpp"

#include <doctest/doctest.h>

#include <csignal>

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

RequeuePlan plan_for(int status, const std::optional<SlurmState>& state) {
  return plan_requeue(ended(status), 3, slurm_job(), state);
}

SlurmState restarted(std::int64_t count) {
  return {.restarts_count = count};
}

TEST_CASE("requeue: only a job that is to be run again, and as often as was said") {
  CHECK(plan_for(75, restarted(0)) ==
        RequeuePlan{true, "queueing Slurm job 12 again, 1 of at most 3 times"});
  CHECK(plan_for(75, restarted(2)).go);
  CHECK(plan_for(75, restarted(3)) ==
        RequeuePlan{false,
                    "Slurm job 12 was queued again 3 times already, as often as --requeue allows"});
  CHECK_FALSE(plan_for(75, restarted(4)).go);
  for (const int status : {0, 1, 2, 69, 70, 71, 76, 126, 127, 143}) {
    CHECK(plan_for(status, restarted(0)) == RequeuePlan{});
  }
  CHECK(plan_requeue(ended(75), 0, slurm_job(), restarted(0)) == RequeuePlan{});
}

TEST_CASE("requeue: where Slurm does not answer, its variable says how often it was") {
  CHECK_FALSE(plan_for(75, std::nullopt).go);
  CHECK(plan_requeue(ended(75), 8, slurm_job(), std::nullopt).go);
}

TEST_CASE("requeue: a job that Slurm ends stays so") {
  CHECK(plan_for(75, SlurmState{.is_ended = true}) ==
        RequeuePlan{false,
                    "Slurm job 12 was cancelled, or its time is over: it is not queued again"});
}

TEST_CASE("requeue: an end by SIGTERM may be Slurm's wish, unless it is a worker's own") {
  CHECK(may_be_preempted(ended(143)));
  Outcome own = ended(143);
  own.failure = WorkerFailure{"n0", Rank{1}, LocalRank{1}, 71, {WorkerEnd::Kind::killed, SIGTERM}};
  CHECK_FALSE(may_be_preempted(own));
  for (const int status : {0, 1, 75, 130}) CHECK_FALSE(may_be_preempted(ended(status)));
  CHECK(plan_requeue(preempted_outcome(), 3, slurm_job(), restarted(0)).go);
}

TEST_CASE("requeue: Slurm is asked for the job's state only where that matters") {
  CHECK(may_be_requeued(ended(75), 1));
  CHECK_FALSE(may_be_requeued(ended(75), 0));
  for (const int status : {0, 1, 76, 143}) CHECK_FALSE(may_be_requeued(ended(status), 3));
}

TEST_CASE("requeue: without scontrol that is said") {
  SlurmControl control = slurm_job();
  control.requeue.executable.clear();
  CHECK(plan_requeue(ended(75), 3, control, restarted(0)) ==
        RequeuePlan{false,
                    "cannot queue Slurm job 12 again: there is no scontrol on PATH; add the folder "
                    "of Slurm's commands"});
}

}  // namespace
}  // namespace ddprun
