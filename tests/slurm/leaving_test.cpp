// Signals and ends in a job that can go on with fewer nodes: those of Slurm are for the whole job.
#include "tests/slurm/training.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

namespace slurm {
namespace {

using std::chrono::milliseconds;

constexpr const char* two_or_three = "--nnodes=2:3";

/// Each of the three workers has saved, and no second generation has begun.
void expect_one_end(Training& training, int job) {
  training.slurm().wait_until_idle();  // it is called over before its processes have ended
  CHECK_MESSAGE(training.saved() == 3, training.slurm().output(job));
  CHECK_FALSE(training.slurm().test().has("start.2.0"));
}

}  // namespace

TEST_CASE("slurm: scancel ends a job that could go on with fewer nodes, in one generation") {
  if (!can_run_slurm()) return;
  Training training(3, milliseconds(100));
  const int job = training.start({two_or_three});
  training.slurm().ask({"scancel", std::to_string(job)});
  CHECK(training.slurm().wait_for_end(job).at("JobState") == "CANCELLED");
  expect_one_end(training, job);
}

TEST_CASE("slurm: SIGTERM to the script alone ends a job that could go on with fewer nodes") {
  if (!can_run_slurm()) return;
  Training training(3, milliseconds(100));
  const int job =
      training.submit_command(std::string("exec " E2E_DDPRUN " ") + two_or_three, {"--nodes=3"});
  training.generation(1, 3);
  training.slurm().ask({"scancel", "--batch", "--signal=TERM", std::to_string(job)});
  CHECK(training.slurm().wait_for_end(job).at("ExitCode") == "143:0");
  expect_one_end(training, job);
  training.slurm().expect_output(job, "asks to leave the job", 0);
}

TEST_CASE("slurm: a time limit ends a job that could go on with fewer nodes, with 75") {
  if (!can_run_slurm()) return;
  Training training(3, milliseconds(100));
  const int job = training.start(
      {two_or_three}, {"--time=10"}, "scontrol update JobId=$SLURM_JOB_ID EndTime=now+12\n");
  CHECK(training.slurm().wait_for_end(job).at("ExitCode") == "75:0");
  expect_one_end(training, job);
}

TEST_CASE("slurm: a node that is drained stays in the job that it has, and may come back to it") {
  if (!can_run_slurm()) return;
  Training training(3);
  const int job = training.start({two_or_three});
  training.slurm().ask({"scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test"});
  training.slurm().wait_until("a node that drains", [&] {
    return training.slurm().node(2).at("State").find("DRAIN") != std::string::npos;
  });
  CHECK_FALSE(training.slurm().test().has("start.2.0"));
  training.end_agent(2);
  training.generation(2, 2);
  CHECK(training.generation(3, 3).at(2).host == "n2");
  training.complete(job);
}

TEST_CASE("slurm: a node leaves when its agent gets SIGTERM, which is started again and joins") {
  if (!can_run_slurm()) return;
  Training training(3);
  const int job = training.start({two_or_three});
  training.end_agent(2);
  for (const auto& [rank, start] : training.generation(2, 2)) CHECK(start.world_size == 2);
  CHECK(training.generation(3, 3).at(2).host == "n2");
  training.complete(job);
}

}  // namespace slurm
