// Jobs that end before they are done, so that they go on later: at the time limit, by a signal, for
// another job.
//
// Slurm's time limits are whole minutes. But the end of a job that runs, and has one, can be set
// to a second.
#include "tests/slurm/training.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

namespace slurm {
namespace {

using std::chrono::milliseconds;

/// For the beginning of a script: its job ends so many seconds later.
std::string ends_in(int seconds) {
  return "scontrol update JobId=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}"
         "${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID} EndTime=now+" +
         std::to_string(seconds) + "\n";
}

/// Likewise: a squeue that leaves a folder each time it has answered, asked.0 and so on.
std::string counted_squeue(Training& training) {
  const std::string path = training.slurm().test().script(
      "squeue",
      "#!/bin/sh\n/usr/bin/squeue \"$@\"\nstatus=$?\n"
      "mkdir asked.$(ls -d asked.* 2>/dev/null | wc -l)\nexit $status\n");
  return "PATH=$PWD:$PATH\n";
}

/// Checks that so many workers have saved when the job has ended, with 75.
void expect_saved(Training& training, int job, int worker_count) {
  CHECK(training.slurm().wait_for_end(job).at("ExitCode") == "75:0");
  CHECK_MESSAGE(training.saved() == worker_count, training.slurm().output(job));
}

bool has_printed(Training& training, int job, const std::string& text) {
  return e2e::count_of(text, training.slurm().output(job)) > 0;
}

}  // namespace

TEST_CASE("slurm: workers save before the time limit, and the job ends with 75") {
  if (!can_run_slurm()) return;
  Training training(2, milliseconds(200));
  const int job = training.submit({"--nproc-per-node=2"}, {"--nodes=2", "--time=10"}, ends_in(12));
  training.generation(1, 4);
  expect_saved(training, job, 4);
  training.slurm().expect_output(job, ": workers get SIGTERM, so that they save");
  training.slurm().expect_output(job, " in 0 s: workers get SIGTERM", 0);
  training.slurm().expect_output(job, "exit status 75: stopped before its time limit");
}

TEST_CASE("slurm: a job of one node is stopped before its time limit, too") {
  if (!can_run_slurm()) return;
  Training training(1, milliseconds(200));
  expect_saved(training, training.start({}, {"--time=10"}, ends_in(12)), 1);
}

TEST_CASE("slurm: the tasks of a step are stopped before the time limit, by one of them") {
  if (!can_run_slurm()) return;
  Training training(2, milliseconds(200));
  const int job =
      training.submit_command(ends_in(12) + "srun " E2E_DDPRUN, {"--nodes=2", "--time=10"});
  training.generation(1, 2);
  expect_saved(training, job, 2);
  training.slurm().expect_output(job, ": workers get SIGTERM");
}

TEST_CASE("slurm: a time limit that was extended stops nothing") {
  if (!can_run_slurm()) return;
  Training training(2);
  SlurmCluster& slurm = training.slurm();
  const int job =
      training.submit({}, {"--nodes=2", "--time=10"}, counted_squeue(training) + ends_in(8));
  slurm.wait_until("first answer", [&] { return slurm.test().has("asked.0"); });
  slurm.ask({"scontrol", "update", "JobId=" + std::to_string(job), "EndTime=now+300"});
  slurm.wait_until("second answer", [&] { return slurm.test().has("asked.1"); });
  training.generation(1, 2);
  CHECK(slurm.cluster().stays(milliseconds(1'000),
                              [&] { return !has_printed(training, job, "workers get SIGTERM"); }));
  training.complete(job);
}

TEST_CASE("slurm: a signal to all processes of a job makes workers save") {
  if (!can_run_slurm()) return;
  Training training(2, milliseconds(200));
  const int job = training.start({"--on-signal=USR1=snapshot-exit"});
  training.slurm().ask({"scancel", "--signal=USR1", std::to_string(job)});
  expect_saved(training, job, 2);
  training.slurm().expect_output(job, "exit status 75: stopped by SIGUSR1 (10)");
}

TEST_CASE("slurm: a job is queued again and goes on, as often as was allowed") {
  if (!can_run_slurm()) return;
  Training training(2, milliseconds(200));
  const int job = training.submit(
      {"--requeue=1"}, {"--nodes=2", "--time=10", "--requeue", "--open-mode=append"}, ends_in(10));
  training.slurm().wait_until("second end",
                              [&] { return has_printed(training, job, "already, as often as"); });
  const Record record = training.slurm().wait_for_end(job);
  CHECK(record.at("Restarts") == "1");
  CHECK(record.at("ExitCode") == "75:0");
  const std::string name = "Slurm job " + std::to_string(job);
  training.slurm().expect_output(job, "queueing " + name + " again, 1 of at most 1 times");
  training.slurm().expect_output(job, name + " was queued again 1 time already");
}

TEST_CASE("slurm: elements of an array are queued again, and no others") {
  if (!can_run_slurm()) return;
  Training training(2, milliseconds(200));
  const Words sbatch{"--nodes=1", "--array=3-5", "--time=10", "--requeue", "--open-mode=append"};
  const std::string array = std::to_string(
      training.submit({"--requeue=3"},
                      sbatch,
                      "[ -z \"$SLURM_RESTART_COUNT\" ] || touch finish\n"
                      "[ $SLURM_ARRAY_TASK_ID = 4 ] || " +  // one of the others has its number
                          ends_in(10)));
  const auto says = [&](const char* element, const std::string& text) {
    const std::string record =
        training.slurm().ask({"scontrol", "--oneliner", "show", "job", array + "_" + element});
    return e2e::count_of(text, record) > 0;
  };
  training.slurm().wait_until("ends of all elements", [&] {
    return says("3", "JobState=COMPLETED") && says("4", "JobState=COMPLETED") &&
           says("5", "JobState=COMPLETED");
  });
  CHECK(says("3", "Restarts=1 "));
  CHECK(says("4", "Restarts=0 "));
  CHECK(says("5", "Restarts=1 "));
}

TEST_CASE("slurm: what was cancelled while workers save is not queued again") {
  if (!can_run_slurm()) return;
  Training training(2, milliseconds(1'200));
  const int job = training.start(
      {"--requeue=3"}, {"--time=10", "--requeue", "--open-mode=append"}, ends_in(12));
  training.slurm().wait_until("stop", [&] { return has_printed(training, job, "get SIGTERM"); });
  training.finish();  // a second run ends at once
  training.slurm().ask({"scancel", std::to_string(job)});
  CHECK(training.slurm().wait_for_end(job).at("JobState") == "CANCELLED");
  training.slurm().wait_until_idle();
  const Record record = training.slurm().job(job);
  CHECK(record.at("JobState") == "CANCELLED");
  CHECK_MESSAGE(record.at("Restarts") == "0", training.slurm().output(job));
}

TEST_CASE("slurm: workers of a job that is preempted save, and it runs again") {
  if (!can_run_slurm()) return;
  Training training(2, milliseconds(200));
  const int job = training.start({"--requeue=2"},
                                 {"--exclusive", "--requeue", "--open-mode=append"},
                                 "[ -z \"$SLURM_RESTART_COUNT\" ] || touch finish\n");
  const int urgent =
      training.slurm().submit("true\n", {"--nodes=2", "--exclusive", "--partition=urgent"});
  CHECK(training.slurm().wait_for_end(urgent).at("JobState") == "COMPLETED");
  CHECK_MESSAGE(training.saved() == 2, training.slurm().output(job));
  const Record record = training.slurm().wait_for_end(job);
  CHECK_MESSAGE(record.at("JobState") == "COMPLETED", training.slurm().output(job));
  CHECK(record.at("Restarts") == "1");
}

}  // namespace slurm
