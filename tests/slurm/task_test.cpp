// ddprun as the task of a step: srun starts it on each node.
#include "tests/slurm/training.hpp"

#include <doctest/doctest.h>

#include <string>

namespace slurm {

using std::chrono::milliseconds;

TEST_CASE("slurm: a step with one task a node is one job") {
  if (!can_run_slurm()) return;
  Training training(3);
  const int job = training.submit_command(
      "srun --overlap --ntasks-per-node=1 " E2E_DDPRUN " --nproc-per-node=2", {"--nodes=3"});
  const Starts first = training.generation(1, 6);
  for (int rank = 0; rank < 6; ++rank) {
    const Start& start = first.at(rank);
    CHECK(start.host == "n" + std::to_string(rank / 2));
    CHECK(start.local_rank == rank % 2);
    CHECK(start.local_world_size == 2);
    CHECK(start.world_size == 6);
    CHECK(start.master_address == training.slurm()[0].address());
  }
  CHECK(training.token_files().size() == 1);
  training.finish();
  CHECK_MESSAGE(training.slurm().wait_for_end(job).at("JobState") == "COMPLETED",
                training.slurm().output(job));
  CHECK(training.token_files().empty());
  CHECK(e2e::count_of("not authenticated", training.slurm().output(job)) == 0);
}

TEST_CASE("slurm: in a step with several tasks a node each has one worker") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = training.submit_command("srun " E2E_DDPRUN, {"--nodes=2", "--ntasks-per-node=2"});
  const Starts first = training.generation(1, 4);
  for (int rank = 0; rank < 4; ++rank) {
    const Start& start = first.at(rank);
    CHECK(start.host == "n" + std::to_string(rank / 2));
    CHECK(start.local_rank == rank % 2);
    CHECK(start.local_world_size == 2);
    CHECK(start.world_size == 4);
  }
  training.finish();
  CHECK_MESSAGE(training.slurm().wait_for_end(job).at("JobState") == "COMPLETED",
                training.slurm().output(job));
}

TEST_CASE("slurm: workers of several tasks a node and several workers each are refused") {
  if (!can_run_slurm()) return;
  Training training(1);
  const int job = training.submit_command("srun " E2E_DDPRUN " --nproc-per-node=2",
                                          {"--nodes=1", "--ntasks-per-node=2"});
  CHECK(training.slurm().wait_for_end(job).at("ExitCode") == "2:0");
  const std::string said = training.slurm().output(job);
  CHECK_MESSAGE(e2e::count_of("write srun --ntasks-per-node=1", said) == 2, said);
}

TEST_CASE("slurm: a job of its own on each node of a step stays there") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = training.submit_command(
      "srun " E2E_DDPRUN " --standalone --nnodes=1 --nproc_per_node=2", {"--nodes=2"});
  CHECK(training.generation(1, 2).at(1).world_size == 2);
  training.finish();
  CHECK_MESSAGE(training.slurm().wait_for_end(job).at("JobState") == "COMPLETED",
                training.slurm().output(job));
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
  const std::string said = training.slurm().output(job);
  CHECK_MESSAGE(e2e::count_of("coordinates the job from now on, in place of n1", said) == 1, said);
}

}  // namespace slurm
