// ddprun where people run it in Slurm, besides batch scripts and their steps: in what is attached
// to a job, at terminals, in shells of salloc, in arrays and in heterogeneous jobs; and where
// Slurm's variables were spoilt.
#include "tests/slurm/training.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace slurm {
namespace {

/// With workers of which each prints "[host:rank] of all".
Words ddprun(const Words& options) {
  return Words{E2E_DDPRUN} + options + Words{"sh", "-c", "echo of $WORLD_SIZE"};
}

/// The same for a shell.
std::string ddprun_line(const std::string& options) {
  return E2E_DDPRUN " " + options + " sh -c 'echo of $WORLD_SIZE'\n";
}

/// What such workers have printed, in order of ranks.
Words sorted_lines(const std::string& text) {
  Words lines = e2e::lines_of(text);
  std::ranges::sort(lines);
  return lines;
}

/// Checks that it ends with that status, and has printed each of these once.
void expect_end(hosts::Program& program, int status, const Words& texts) {
  CHECK_MESSAGE(program.wait() == status, program.description());
  for (const std::string& text : texts) {
    CHECK_MESSAGE(e2e::count_of(text, program.out()) == 1, text, "\nin\n", program.description());
  }
}

/// A program on a terminal of the head, into which lines are typed.
hosts::Program& type_into(SlurmCluster& slurm,
                          const std::string& command,
                          const std::string& lines) {
  slurm.test().write("typed", lines + "exit\n");
  return slurm.run(
      slurm.head(),
      e2e::shell("script --quiet --return --command '" + command + "' /dev/null <typed"));
}

}  // namespace

TEST_CASE("slurm: what is attached to a job from outside is a job of its own beside it") {
  if (!can_run_slurm()) return;
  Training training(2);
  SlurmCluster& slurm = training.slurm();
  const int job = training.start();
  const std::string srun = "--jobid=" + std::to_string(job);
  const auto attach = [&](const Words& where, const Words& options) {
    hosts::Program& step =
        slurm.run(slurm.head(), Words{"srun", srun, "--overlap"} + where + ddprun(options));
    CHECK_MESSAGE(step.wait() == 0, step.description());
    return sorted_lines(step.out());
  };
  CHECK(attach({"--nodes=1", "--ntasks=1", "--nodelist=n1"}, {"--nproc-per-node=2"}) ==
        Words{"[n1:0] of 2", "[n1:1] of 2"});
  CHECK(attach({"--nodes=2", "--ntasks-per-node=1"}, {}) == Words{"[n0:0] of 2", "[n1:1] of 2"});

  hosts::Program& shell =
      type_into(slurm,
                "srun --overlap --nodes=1 --ntasks=1 --nodelist=n1 " + srun + " --pty bash --norc",
                ddprun_line("--nproc-per-node=2"));
  expect_end(shell, 0, {"[n1:1] of 2"});
  training.complete(job);
  CHECK_FALSE(slurm.test().has("start.2.0"));
}

TEST_CASE("slurm: in a shell of srun --pty a job stays on its node") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  hosts::Program& shell = type_into(slurm,
                                    "srun --pty bash --norc",
                                    ddprun_line("--dry-run") + ddprun_line("--nproc-per-node=2"));
  expect_end(shell, 0, {"This is the task 0 of 1 of Slurm step", "[n0:0] of 2", "[n0:1] of 2"});
}

TEST_CASE("slurm: the one of several shells of srun --pty that has the terminal is refused") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  hosts::Program& shell =
      type_into(slurm, "srun --nodes=2 --ntasks=2 --pty bash --norc", ddprun_line(""));
  expect_end(shell, 2, {"this shell is one of 2 tasks of Slurm step"});
}

TEST_CASE("slurm: in a shell of salloc on another host one node is reached by srun") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(1);
  hosts::Program& bare = slurm.run(slurm.head(), Words{"salloc", "--nodes=1"} + ddprun({}));
  CHECK_MESSAGE(bare.wait() == 2, bare.description());
  CHECK_MESSAGE(e2e::count_of("write srun in front of ddprun", bare.err()) == 1,
                bare.description());
  hosts::Program& step = slurm.run(slurm.head(), Words{"salloc", "--nodes=1", "srun"} + ddprun({}));
  expect_end(step, 0, {});
  CHECK(step.out() == "[n0:0] of 1\n");
}

TEST_CASE("slurm: in a shell of salloc on its first node agents are started on all") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  hosts::Program& shell =
      type_into(slurm, "salloc --nodes=2", ddprun_line("--dry-run") + ddprun_line(""));
  expect_end(shell,
             0,
             {"This is the script of Slurm job",
              "started by srun on n[0-1]",
              "[n0:0] of 2",
              "[n1:1] of 2"});
}

TEST_CASE("slurm: each element of an array is a job of its own") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  (void)slurm.submit(E2E_DDPRUN
                     " sh -c 'touch rank.$SLURM_ARRAY_TASK_ID.$RANK.of.$WORLD_SIZE'\n"
                     "echo $? >status.$SLURM_ARRAY_TASK_ID\n",
                     {"--nodes=2", "--array=3,7"});
  for (const std::string element : {"3", "7"}) {
    slurm.wait_until("element " + element,
                     [&] { return slurm.test().read("status." + element) == "0\n"; });
    for (const std::string rank : {"0", "1"}) {
      CHECK(slurm.test().has("rank." + element + "." + rank + ".of.2"));
    }
  }
  slurm.wait_until_idle();
}

TEST_CASE("slurm: a heterogeneous job is refused, and its parts meet as it is told") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  const int job = slurm.submit(ddprun_line("") + "echo status $?\nsrun --het-group=0,1 " +
                                   ddprun_line("--nnodes=2 --rdzv-endpoint=$(uname -n) "
                                               "--rdzv-id=$SLURM_JOB_ID"),
                               {"--nodes=1", ":", "--nodes=1"});
  CHECK(slurm.wait_for_end(job).at("ExitCode") == "0:0");
  for (const char* text : {"is heterogeneous (SLURM_HET_SIZE is '2')",
                           "status 2\n",
                           "[n0:0] of 2\n",
                           "[n1:1] of 2\n"}) {
    slurm.expect_output(job, text);
  }
  slurm.wait_until_idle();
}

TEST_CASE("slurm: a script that was submitted from a step of another job is one of its own") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  const std::string inner =
      slurm.test().script("inner", "#!/bin/bash\n" + ddprun_line("--dry-run"));
  const int outer = slurm.submit(
      "srun -N1 -n1 sbatch --wait --nodes=2 --output=inner.out " + inner + "\n", {"--nodes=1"});
  CHECK_MESSAGE(slurm.wait_for_end(outer).at("JobState") == "COMPLETED", slurm.output(outer));
  const std::string said = slurm.test().read("inner.out");
  CHECK_MESSAGE(e2e::count_of("the batch script\n", said) == 1, said);
  CHECK_MESSAGE(e2e::count_of(" SLURM_JOB_NODELIST\n", said) == 1, said);
}

TEST_CASE("slurm: what spoils Slurm's variables is refused with the name of the variable") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  const auto run = [&](const Words& command, const Words& change, const std::string& name) {
    CAPTURE(change.back());
    hosts::Program& program =
        slurm.run(slurm.head(), command + Words{"--nodes=2", "env"} + change + ddprun({}));
    CHECK_MESSAGE(program.wait() == 2, program.description());
    CHECK_MESSAGE(e2e::count_of(name, program.err()) >= 1, program.description());
    CHECK(program.out().empty());
  };
  const auto spoil = [&](const char* command, const std::string& name, const Words& values) {
    for (const std::string& value : values) run({command}, {name + "=" + value}, name);
  };
  spoil("salloc", "SLURM_JOB_ID", {"", "12x"});
  spoil("salloc", "SLURM_JOB_NODELIST", {"", "n[0-", "n[0-999999999]"});
  run({"salloc"}, {"-u", "SLURM_JOB_NODELIST", "-u", "SLURM_NODELIST"}, "SLURM_JOB_NODELIST");
  spoil("srun", "SLURM_STEP_NODELIST", {"", ","});
  spoil("srun", "SLURM_STEP_TASKS_PER_NODE", {"", "2", "1(x"});
  spoil("srun", "SLURM_PROCID", {"", "2"});
  spoil("srun", "SLURM_LOCALID", {"1"});
}

TEST_CASE("slurm: where a script is reached is not where its agents are") {
  if (!can_run_slurm()) return;
  Training training(2);
  SlurmCluster& slurm = training.slurm();
  const int job = slurm.submit("export DDPRUN_ADVERTISE=" + slurm[0].address() +
                                   "\n" E2E_DDPRUN
                                   " sh -c 'echo ${GLOO_SOCKET_IFNAME-none} >interface.$RANK'\n",
                               {"--nodes=2"});
  CHECK_MESSAGE(slurm.wait_for_end(job).at("JobState") == "COMPLETED", slurm.output(job));
  CHECK(slurm.test().read("interface.0") == slurm.test().read("interface.1"));
  CHECK(slurm.test().read("interface.1") != "none\n");
}

}  // namespace slurm
