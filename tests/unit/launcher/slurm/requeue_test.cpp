#include "launcher/slurm/requeue.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

namespace ddprun {
namespace {

using RequeueActions = std::vector<RequeueAction>;

const Command asks_preempted{"/usr/bin/squeue", {"squeue", "preempted?"}};
const Command asks_state{"/usr/bin/scontrol", {"scontrol", "show"}};
const Command queues_again{"/usr/bin/scontrol", {"scontrol", "requeue"}};

SlurmControl slurm_job() {
  SlurmControl control;
  control.job = "12";
  control.ask_preempted = asks_preempted;
  control.ask_state = asks_state;
  control.requeue = queues_again;
  control.restarts_count = 7;  // of the job that this one was submitted from
  return control;
}

/// What scontrol shows of a job.
SlurmAnswer shown(const std::string& state, int restarts_count) {
  return {true, "JobState=" + state + " Restarts=" + std::to_string(restarts_count) + " "};
}

const SlurmAnswer no_answer{false, "no answer"};

Outcome ended(int status) {
  return {status, "so it was", {}};
}
Outcome preempted() {
  return {75,
          "stopped by SIGTERM, since Slurm preempted the job; what was saved is "
          "kept: run again",
          {}};
}

/// A job that is queued again no more than three times.
class OverJob {
 public:
  explicit OverJob(const Outcome& outcome,
                   int requeues_max = 3,
                   const SlurmControl& slurm = slurm_job())
      : requeue_(outcome, requeues_max, slurm) {}

  RequeueActions starts() {
    RequeueActions told;
    requeue_.start(told);
    return told;
  }
  RequeueActions hears(const SlurmAnswer& answer) {
    RequeueActions told;
    requeue_.on_event(answer, told);
    return told;
  }
  /// What it does once it is asked about the job's state and hears this.
  RequeueActions hears_state(const SlurmAnswer& answer) {
    CHECK(starts() == RequeueActions{AskSlurm{asks_state, Millis{10'000}}});
    return hears(answer);
  }

 private:
  Requeue requeue_;
};

RequeueActions queues(int time) {
  return {Note{"queueing Slurm job 12 again, " + std::to_string(time) + " of at most 3 times"},
          AskSlurm{queues_again, Millis{60'000}}};
}
RequeueActions leaves(const Outcome& outcome) {
  return {LeaveJob{outcome}};
}
RequeueActions leaves_saying(const std::string& why, const Outcome& outcome = ended(75)) {
  return {Note{why}, LeaveJob{outcome}};
}

TEST_CASE("requeue: a job that is to be run again goes back into the queue, and is then left") {
  OverJob job(ended(75));
  CHECK(job.hears_state(shown("RUNNING", 0)) == queues(1));
  CHECK(job.hears({true, ""}) == leaves(ended(75)));
  CHECK(job.hears({true, ""}).empty());
  CHECK(OverJob(ended(75)).hears({true, ""}).empty());  // before anything was asked
}

TEST_CASE("requeue: as often as was said") {
  CHECK(OverJob(ended(75)).hears_state(shown("RUNNING", 2)) == queues(3));
  const std::string why =
      "Slurm job 12 was queued again 3 times already, as often as --requeue allows";
  CHECK(OverJob(ended(75)).hears_state(shown("RUNNING", 3)) == leaves_saying(why));
}

TEST_CASE("requeue: with any other status, or unless it was asked for, nothing is asked") {
  for (const int status : {0, 1, 2, 69, 70, 71, 76, 126, 127, 130}) {
    CHECK(OverJob(ended(status)).starts() == leaves(ended(status)));
  }
  CHECK(OverJob(ended(75), 0).starts() == leaves(ended(75)));
}

TEST_CASE("requeue: where Slurm does not answer, its variable says how often it was") {
  const std::string why =
      "Slurm job 12 was queued again 7 times already, as often as --requeue allows";
  CHECK(OverJob(ended(75)).hears_state(no_answer) == leaves_saying(why));
  CHECK(OverJob(ended(75)).hears_state({true, "no such job"}) == leaves_saying(why));
  CHECK(OverJob(ended(75)).hears_state({false, shown("RUNNING", 0).text}) == leaves_saying(why));
  OverJob patient(ended(75), 8);
  CHECK(std::holds_alternative<AskSlurm>(patient.hears_state(no_answer).back()));
}

TEST_CASE("requeue: a job that Slurm ends stays so") {
  CHECK(OverJob(ended(75)).hears_state(shown("COMPLETING", 0)) ==
        leaves_saying(
            "Slurm job 12 was cancelled, or reached its time limit: it is not queued again"));
}

TEST_CASE("requeue: an end by SIGTERM may be Slurm's request, for another job") {
  const RequeueActions question{AskSlurm{asks_preempted, Millis{10'000}}};
  OverJob wanted(ended(143));
  CHECK(wanted.starts() == question);
  CHECK(wanted.hears({true, "1795374847"}) == RequeueActions{AskSlurm{asks_state, Millis{10'000}}});
  CHECK(wanted.hears(shown("RUNNING", 0)) == queues(1));
  CHECK(wanted.hears({true, ""}) == leaves(preempted()));

  for (const SlurmAnswer& other : {SlurmAnswer{true, "N/A"}, SlurmAnswer{false, "1795374847"}}) {
    OverJob stopped(ended(143));
    CHECK(stopped.starts() == question);
    CHECK(stopped.hears(other) == leaves(ended(143)));
  }
}

TEST_CASE("requeue: preempted, and not to be queued again, it says so by its status") {
  OverJob job(ended(143), 0);
  CHECK(job.starts().size() == 1);
  CHECK(job.hears({true, "1795374847"}) == leaves(preempted()));
}

TEST_CASE("requeue: a worker's own death by SIGTERM is no request of Slurm's") {
  Outcome own = ended(143);
  own.failure = WorkerFailure{"n0", Rank{1}, LocalRank{1}, 71, {WorkerEnd::Kind::killed, SIGTERM}};
  CHECK(OverJob(own).starts() == leaves(own));
}

TEST_CASE("requeue: what Slurm says against it is told") {
  OverJob job(ended(75));
  REQUIRE(job.hears_state(shown("RUNNING", 0)) == queues(1));
  CHECK(job.hears({false, "Requeue is disabled"}) ==
        leaves_saying("Slurm does not queue job 12 again: scontrol: Requeue is disabled; see "
                      "--requeue of sbatch"));
}

TEST_CASE("requeue: without Slurm's commands that is said, where it matters") {
  SlurmControl none = slurm_job();
  none.ask_preempted = none.ask_state = none.requeue = Command{};
  none.restarts_count = 0;
  CHECK(OverJob(ended(143), 3, none).starts() == leaves(ended(143)));
  CHECK(OverJob(ended(75), 3, none).starts() ==
        leaves_saying("cannot queue Slurm job 12 again: scontrol not found on PATH; add "
                      "Slurm's bin directory to PATH"));
}

}  // namespace
}  // namespace ddprun
