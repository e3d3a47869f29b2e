// What becomes of ddprun's jobs when nodes are cut off, daemons die and srun does not do its part.
#include "tests/slurm/training.hpp"

#include <doctest/doctest.h>

#include <string>

namespace slurm {

TEST_CASE("slurm: a node that is cut off is left out, its workers dead by then, and comes back") {
  if (!can_run_slurm()) return;
  Training training(4);
  const int job = training.start({"--nnodes=2:4"}, {"--no-kill"});
  training.slurm()[3].isolate();
  const Starts second = training.generation(2, 3);
  CHECK(training.workers_on(3) == 0);
  CHECK(second.at(2).host == "n2");
  training.slurm()[3].rejoin();
  CHECK(training.generation(3, 4).at(3).host == "n3");
  training.complete_with_losses(job);
}

TEST_CASE("slurm: a node that Slurm gives up stays out, and agents of others start again") {
  if (!can_run_slurm()) return;
  Training training(3);
  SlurmCluster& slurm = training.slurm();
  const int job = training.start({"--nnodes=2:3"}, {"--no-kill"});
  slurm[2].isolate();
  training.generation(2, 2);
  slurm.wait_until_down(2);
  training.kill_agent(1);
  CHECK(training.generation(3, 2).at(1).host == "n1");
  slurm[2].rejoin();
  slurm.wait_until("node without the job",
                   [&] { return training.agents_on(2) == 0 && slurm.node(2)["State"] == "IDLE"; });
  training.complete_with_losses(job);
}

TEST_CASE("slurm: a job does not notice that a node's slurmd dies and starts again") {
  if (!can_run_slurm()) return;
  Training training(2);
  SlurmCluster& slurm = training.slurm();
  const int job = training.start();
  slurm.slurmd(1).kill();
  slurm.slurmd(1).reap();
  slurm.start_slurmd(1);
  slurm.ask({"srun", "--jobid=" + std::to_string(job), "--overlap", "-N1", "-n1", "-wn1", "true"});
  training.complete_with_losses(job);
  CHECK_FALSE(slurm.test().has("start.2.0"));
  slurm.expect_output(job, "was lost", 0);
}

/// Slurm 22.05 keeps such a job, of which no script is left.
TEST_CASE("slurm: where the script's node is lost nothing of the job lives on elsewhere") {
  if (!can_run_slurm()) return;
  Training training(3);
  SlurmCluster& slurm = training.slurm();
  const int job = training.start({"--nnodes=2:3", "--replace-timeout=5s"}, {"--no-kill"});
  slurm.power_off(0);
  const auto wait_for_end_of = [&](const char* what, int (Training::*count_on)(int)) {
    slurm.cluster().wait_until(std::string("end of ") + what, [&] {
      return (training.*count_on)(1) + (training.*count_on)(2) == 0;
    });
  };
  wait_for_end_of("workers", &Training::workers_on);
  CHECK(training.agents_on(1) + training.agents_on(2) > 0);  // which have killed them
  wait_for_end_of("agents", &Training::agents_on);
  slurm.wait_until_down(0);
  CHECK(slurm.job(job).at("JobState") == "RUNNING");
  CHECK(slurm.job(job).at("NodeList") == "n[1-2]");
  slurm.ask({"scancel", std::to_string(job)});
  CHECK(slurm.wait_for_end(job).at("JobState") == "CANCELLED");
}

TEST_CASE("slurm: a job that may not lose a node ends when Slurm gives one up") {
  if (!can_run_slurm()) return;
  Training training(3);
  const int job = training.start({}, {"--no-requeue"});
  training.slurm().power_off(0);
  CHECK(training.slurm().wait_for_end(job).at("JobState") == "NODE_FAIL");
}

TEST_CASE("slurm: an srun that hangs is waited for as long as nodes are") {
  if (!can_run_slurm()) return;
  Training training(2);
  (void)training.slurm().test().script("srun", "#!/bin/sh\nsleep 1000\n");
  const int job = training.submit({"--join-timeout=1s"}, {"--nodes=2"}, "PATH=$PWD:$PATH\n");
  CHECK(training.slurm().wait_for_end(job).at("ExitCode") == "69:0");
  training.slurm().expect_output(job, "no agent has joined from any of 2 nodes within 1 s");
}

TEST_CASE("slurm: an srun that hangs for one node does not keep the job from ending") {
  if (!can_run_slurm()) return;
  Training training(2);
  (void)training.slurm().test().script("srun",
                                       "#!/bin/sh\n"
                                       "case $* in *nodelist=n1*) exec sleep 1000 ;; esac\n"
                                       "PATH=${PATH#*:} exec srun \"$@\"\n");
  const int job = training.submit({"--join-timeout=6s"}, {"--nodes=2"}, "PATH=$PWD:$PATH\n");
  CHECK(training.slurm().wait_for_end(job).at("ExitCode") == "69:0");
  training.slurm().expect_output(job, "1 of at least 2 nodes joined: n0; not seen: n1\n");
}

TEST_CASE("slurm: of Slurm's commands a batch script needs srun alone") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = training.submit({},
                                  {"--nodes=2"},
                                  "mkdir bin\n"
                                  "for tool in srun uname mv mkfifo; do\n"
                                  "  ln -s $(command -v $tool) bin/\n"
                                  "done\n"
                                  "PATH=$PWD/bin\n"
                                  "command -v scontrol && exit 1\n");
  CHECK(training.generation(1, 2).at(1).host == "n1");
  training.complete(job);
}

TEST_CASE("slurm: a job for GPUs on nodes without any ends, and says so") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = training.submit({"--nproc-per-node=gpu"}, {"--nodes=2"});
  training.slurm().wait_for_end(job);
  const std::string said = training.slurm().output(job);
  CHECK_MESSAGE(e2e::count_of("no GPU on this node; add #SBATCH --gpus-per-node=N", said) >= 1,
                said);
  training.slurm().expect_output(job, "it is started again in", 0);
  training.expect_status(job, 69);
}

}  // namespace slurm
