// ddprun in batch scripts: it finds the nodes, and keeps an agent on each.
#include "tests/slurm/training.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace slurm {

using std::chrono::milliseconds;

TEST_CASE("slurm: a batch script starts workers on all nodes") {
  if (!can_run_slurm()) return;
  Training training(4);
  const int job = training.submit({"--nproc-per-node=2"}, {"--nodes=4"});
  training.expect_two_each();
  CHECK(training.token_files().size() == 1);
  training.complete(job);
  CHECK(training.token_files().empty());
  CHECK(training.slurm().output(job).find("leads") == std::string::npos);  // none is elected
}

TEST_CASE("slurm: all GPUs that the job has on a node are its agent's") {
  if (!can_run_slurm()) return;
  for (const char* wish : {"--gpus-per-node=2", "--gres=gpu:2", "--gpus-per-task=2"}) {
    CAPTURE(wish);
    Training training(2);
    const int job = training.submit({}, {"--nodes=2", "--ntasks-per-node=1", wish});
    for (const auto& [rank, start] : training.generation(1, 2)) CHECK(start.gpus == "0,1");
    training.finish();
    CHECK(training.slurm().wait_for_end(job).at("JobState") == "COMPLETED");
  }
}

TEST_CASE("slurm: a job file says what to run, and the token is where it has a shared folder") {
  if (!can_run_slurm()) return;
  Training training(2);
  training.slurm().test().write("job.yaml",
                                "program: ./train\n"
                                "nproc_per_node: 2\n"
                                "snapshot: run/snapshot.pt\n");
  const int job = training.slurm().submit(E2E_DDPRUN " -f job.yaml\n", {"--nodes=2"});
  CHECK(training.generation(1, 4).at(3).host == "n1");
  CHECK(training.token_files().empty());
  const Words names = training.slurm().test().names_in("run");
  CHECK(std::ranges::any_of(
      names, [](const std::string& name) { return name.starts_with(".ddprun-token."); }));
  training.complete(job);
  CHECK(training.slurm().test().names_in("run").empty());
}

TEST_CASE("slurm: variables that tell srun otherwise change nothing, and workers get all others") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = training.submit({},
                                  {"--nodes=2"},
                                  "export SLURM_EXPORT_ENV=NONE SRUN_EXPORT_ENV=NONE\n"
                                  "export SLURM_LABELIO=1 SLURM_NTASKS=9 SLURM_NNODES=2\n"
                                  "export SLURM_EXCLUSIVE=1 SLURM_CPUS_PER_TASK=99\n"
                                  "export SLURM_GRES=none SLURM_HOSTFILE=/nowhere\n"
                                  "export SLURM_TASK_PROLOG=/bin/false SLURM_STDOUTMODE=none\n"
                                  "export OMP_NUM_THREADS=77\n");
  for (const auto& [rank, start] : training.generation(1, 2)) CHECK(start.threads == "77");
  training.fail(0, 3);
  CHECK(training.slurm().wait_for_end(job).at("ExitCode") == "3:0");
  training.expect_status(job, 3);
  training.slurm().expect_output(job, "\n0: ", 0);  // SLURM_LABELIO's
}

TEST_CASE("slurm: workers may open as many files as the script") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  const int job = slurm.submit(
      "ulimit -Sn 100\n" E2E_DDPRUN " sh -c 'echo may open $(ulimit -Sn)'\n", {"--nodes=2"});
  CHECK(slurm.wait_for_end(job).at("JobState") == "COMPLETED");
  slurm.expect_output(job, "may open 100", 2);
}

TEST_CASE("slurm: a job of an allocation of one node is started without srun") {
  if (!can_run_slurm()) return;
  Training training(1);
  const int job = training.submit({"--nproc-per-node=2"}, {"--nodes=1"}, "PATH=/bin:/nowhere\n");
  CHECK(training.generation(1, 2).at(1).world_size == 2);
  training.complete(job);
}

TEST_CASE("slurm: the status of a worker that fails is the job's, and said once") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = training.start();
  training.fail(1, 7);
  CHECK(training.slurm().wait_for_end(job).at("ExitCode") == "7:0");
  training.slurm().expect_output(job, "exit status 7: rank 1");
}

TEST_CASE("slurm: a node that loses power is left out") {
  if (!can_run_slurm()) return;
  Training training(4);
  const int job = training.start({"--nnodes=2:4"}, {"--no-kill"});
  training.slurm().power_off(2);
  CHECK(training.generation(2, 3).at(2).host == "n3");
  training.complete_with_losses(job);
}

TEST_CASE("slurm: the script's node goes on alone where one node is enough") {
  if (!can_run_slurm()) return;
  Training training(4);
  const int job = training.start({"--nnodes=1:4"}, {"--no-kill"});
  for (const int node : {1, 2, 3}) training.slurm().power_off(node);
  const Start left = training.generation(2, 1).at(0);
  CHECK(left.host == "n0");
  CHECK(left.world_size == 1);
  training.complete_with_losses(job);
}

TEST_CASE("slurm: a node that is back gets its agent again") {
  if (!can_run_slurm()) return;
  Training training(3);
  const int job = training.start({"--nnodes=2:3"}, {"--no-kill"});
  training.slurm().power_off(2);
  training.generation(2, 2);
  training.slurm().power_on(2);
  CHECK(training.generation(3, 3).at(2).host == "n2");
  training.complete_with_losses(job);
}

TEST_CASE("slurm: an agent that is killed is started again, and its place is free at once") {
  if (!can_run_slurm()) return;
  Training training(3);
  const int job = training.start({"--dead-after=240s"});
  training.kill_agent(1);
  CHECK(training.generation(2, 3).at(1).host == "n1");
  training.complete(job);
}

TEST_CASE("slurm: ctrl-Z changes nothing: an agent that is killed is still started again") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = training.submit_command("exec " E2E_DDPRUN " --dead-after=240s", {"--nodes=2"});
  training.generation(1, 2);
  training.slurm().ask({"scancel", "--batch", "--signal=TSTP", std::to_string(job)});
  training.slurm().wait_until("ctrl-Z", [&] {
    return training.slurm().output(job).find("ctrl-Z is ignored") != std::string::npos;
  });
  training.kill_agent(1);
  CHECK(training.generation(2, 2).at(1).host == "n1");
  training.complete(job);
}

TEST_CASE("slurm: an agent that is killed with its guard is started again, and waits its turn") {
  if (!can_run_slurm()) return;
  Training training(3);
  const int job = training.start({"--dead-after=8s"});
  training.kill_agent_and_guard(1);
  CHECK(training.generation(2, 3).at(1).host == "n1");
  training.complete(job);
  training.slurm().expect_output(job,
                                 "n1 asks for the place of node 1, which another agent of n1 has; "
                                 "the new agent gets it once the other has been silent for 8 s\n");
}

TEST_CASE("slurm: scancel lets workers save, and leaves nothing") {
  if (!can_run_slurm()) return;
  Training training(3, milliseconds(100));  // of the 2 s that the pretended Slurm grants
  const int job = training.start({"--grace=10s"});
  training.slurm().ask({"scancel", std::to_string(job)});
  CHECK(training.slurm().wait_for_end(job).at("JobState") == "CANCELLED");
  training.slurm().wait_until_idle();  // it is called so before its processes have ended
  CHECK_MESSAGE(training.saved() == 3, training.slurm().output(job));
  training.slurm().wait_until("end", [&] { return training.token_files().empty(); });
}

TEST_CASE("slurm: signals to the script alone reach the workers of all nodes") {
  if (!can_run_slurm()) return;
  Training training(2, milliseconds(500));
  const int job = training.submit_command("exec " E2E_DDPRUN, {"--nodes=2"});
  training.generation(1, 2);
  const auto send = [&](const std::string& signal) {
    training.slurm().ask({"scancel", "--batch", "--signal=" + signal, std::to_string(job)});
  };
  send("USR1");
  training.slurm().wait_until("SIGUSR1", [&] { return training.heard() == 2; });
  send("TERM");
  CHECK(training.slurm().wait_for_end(job).at("ExitCode") == "143:0");
  CHECK(training.saved() == 2);
}

TEST_CASE("slurm: a shell of salloc on another host starts the agents of its nodes") {
  if (!can_run_slurm()) return;
  Training training(2);
  SlurmCluster& slurm = training.slurm();
  hosts::Program& salloc =
      slurm.run(slurm.head(), {"salloc", "--nodes=2", E2E_DDPRUN, "--nproc-per-node=2", "./train"});
  const Starts first = training.generation(1, 4);
  CHECK(first.at(0).host == "n0");
  CHECK(first.at(3).host == "n1");
  training.finish();
  CHECK_MESSAGE(salloc.wait() == 0, salloc.description());
}

TEST_CASE("slurm: nothing lives on when the script's ddprun is killed") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = training.start({}, {}, "", "echo the script goes on\n");
  training.kill_script_ddprun();
  training.slurm().wait_for_end(job);
  training.slurm().expect_output(job, "the script goes on\n");
}

TEST_CASE("slurm: without srun the job ends at once, and says what to do") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = training.submit({}, {"--nodes=2"}, "PATH=/nowhere\n");
  CHECK(training.slurm().wait_for_end(job).at("ExitCode") == "71:0");
  training.slurm().expect_output(job, "srun not found on PATH; add Slurm's bin");
}

TEST_CASE("slurm: what srun says when it refuses is shown with the node's name") {
  if (!can_run_slurm()) return;
  Training training(2);
  const std::string broken =
      training.slurm().test().script("srun", "#!/bin/sh\necho srun: error: no luck >&2\nexit 1\n");
  const int job = training.submit({}, {"--nodes=2"}, "PATH=$PWD:$PATH\n");
  CHECK(training.slurm().wait_for_end(job).at("ExitCode") == "69:0");
  const std::string said = training.slurm().output(job);
  CHECK_MESSAGE(e2e::count_of("[n1] srun: error: no luck\n", said) >= 3, said);
  training.slurm().expect_output(job, "the job needs 2; on n");
}

}  // namespace slurm
