#include "launcher/requeue.hpp"

#include <doctest/doctest.h>

#include <csignal>

namespace ddprun {
namespace {

SlurmControl restarted(int count) {
  SlurmControl control;
  control.job = "12";
  control.restarts_count = count;
  control.requeue.executable = "/usr/bin/scontrol";
  return control;
}

TEST_CASE("requeue: only a job that is to be run again, and as often as was said") {
  CHECK(plan_requeue(75, 3, restarted(0)) ==
        RequeuePlan{true, "queueing Slurm job 12 again, 1 of at most 3 times"});
  CHECK(plan_requeue(75, 3, restarted(2)).go);
  CHECK(plan_requeue(75, 3, restarted(3)) ==
        RequeuePlan{false,
                    "Slurm job 12 was queued again 3 times already, as often as --requeue allows"});
  CHECK_FALSE(plan_requeue(75, 3, restarted(4)).go);
  CHECK(plan_requeue(75, 0, restarted(0)) == RequeuePlan{});
  for (const int status : {0, 1, 2, 69, 70, 71, 76, 126, 127, 143}) {
    CHECK(plan_requeue(status, 3, restarted(0)) == RequeuePlan{});
  }
}

TEST_CASE("requeue: an end by SIGTERM may be Slurm's wish, unless it is a worker's own") {
  CHECK(may_be_preempted({143, "stopped by SIGTERM (15)", {}}));
  const WorkerFailure own{"n0", Rank{1}, LocalRank{1}, 71, {WorkerEnd::Kind::killed, SIGTERM}};
  CHECK_FALSE(may_be_preempted({143, "rank 1 was killed by SIGTERM (15)", own}));
  for (const int status : {0, 1, 75, 130}) CHECK_FALSE(may_be_preempted({status, "", {}}));
  CHECK(plan_requeue(preempted_outcome().exit_status, 3, restarted(0)).go);
}

TEST_CASE("requeue: without scontrol that is said") {
  SlurmControl control = restarted(0);
  control.requeue.executable.clear();
  CHECK(plan_requeue(75, 3, control) ==
        RequeuePlan{false, "cannot queue Slurm job 12 again: there is no scontrol on PATH"});
}

}  // namespace
}  // namespace ddprun
