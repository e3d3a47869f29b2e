// ddprun as the task of a step: srun starts it on each node.
#include "tests/slurm/training.hpp"

#include <doctest/doctest.h>

#include <string>

namespace slurm {

TEST_CASE("slurm: a step with one task a node is one job") {
  if (!can_run_slurm()) return;
  Training training(3);
  const int job = training.submit_command(
      "srun --overlap --ntasks-per-node=1 " E2E_DDPRUN " --nproc-per-node=2", {"--nodes=3"});
  training.expect_two_each();
  CHECK(training.token_files().size() == 1);
  training.complete(job);
  CHECK(training.token_files().empty());
  training.slurm().expect_output(job, "not authenticated", 0);
}

TEST_CASE("slurm: in a step with several tasks a node each has one worker") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = training.submit_command("srun " E2E_DDPRUN, {"--nodes=2", "--ntasks-per-node=2"});
  training.expect_two_each();
  training.complete(job);
}

TEST_CASE("slurm: workers of several tasks a node and several workers each are refused") {
  if (!can_run_slurm()) return;
  Training training(1);
  const int job = training.submit_command("srun " E2E_DDPRUN " --nproc-per-node=2",
                                          {"--nodes=1", "--ntasks-per-node=2"});
  CHECK(training.slurm().wait_for_end(job).at("ExitCode") == "2:0");
  training.slurm().expect_output(job, "write srun --ntasks-per-node=1", 2);
}

TEST_CASE("slurm: a job of its own on each node of a step stays there") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = training.submit_command(
      "srun " E2E_DDPRUN " --standalone --nnodes=1 --nproc_per_node=2", {"--nodes=2"});
  CHECK(training.generation(1, 2).at(1).world_size == 2);
  training.complete(job);
}

TEST_CASE("slurm: a step that Slurm does not kill outlives its first node's agent") {
  if (!can_run_slurm()) return;
  Training training(4);
  const int job = training.submit_command(
      "srun --overlap --no-kill --kill-on-bad-exit=0 --relative=1 --nodes=3 --ntasks=3 " E2E_DDPRUN
      " --nnodes=2:3",
      {"--nodes=4", "--no-kill"});
  training.generation(1, 3);
  training.slurm().power_off(1);
  const Starts second = training.generation(2, 2);
  CHECK(second.at(0).host == "n2");
  CHECK(second.at(1).host == "n3");
  training.finish();
  training.slurm().wait_for_end(job);
  training.slurm().expect_output(job, "coordinates the job from now on, in place of n1");
}

}  // namespace slurm
