#include "launcher/slurm/srun_command.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace ddprun {
namespace {

AgentSteps steps() {
  AgentSteps made;
  made.nodes = {"n0", "n7"};
  made.srun = "/usr/bin/srun";
  made.ddprun = "/opt/ddprun";
  made.nodes_min = 1;
  made.nodes_max = 2;
  made.job_id = "12";
  made.endpoint = "10.0.0.1:4000";
  made.command_line.settings = {{"nproc-per-node", {"gpu", "the command line"}},
                                {"module", {"true", "the command line"}},
                                {"nnodes", {"1:9", "the command line"}},
                                {"claim-dir", {"/scratch", "the command line"}},
                                {"report", {"report.json", "the command line"}}};
  made.command_line.program = {"train", "the command line"};
  made.command_line.arguments = {"--lr", "0.1", ""};
  return made;
}

TEST_CASE("srun command: one step of one task on that node, with an agent") {
  const Command command = srun_command(steps(), NodeId{1});
  CHECK(command.executable == "/usr/bin/srun");
  CHECK(command.arguments == std::vector<std::string>{"srun",
                                                      "--nodes=1",
                                                      "--ntasks=1",
                                                      "--nodelist=n7",
                                                      "--overlap",
                                                      "--no-kill",
                                                      "--kill-on-bad-exit=0",
                                                      "--mem=0",
                                                      "--quiet",
                                                      "--cpu-bind=none",
                                                      "--mpi=none",
                                                      "--export=ALL",
                                                      "/opt/ddprun",
                                                      "agent",
                                                      "--module",
                                                      "--nproc-per-node=gpu",
                                                      "--nnodes=1:2",
                                                      "--rdzv-endpoint=10.0.0.1:4000",
                                                      "--rdzv-id=12",
                                                      "--node-rank=1",
                                                      "train",
                                                      "--lr",
                                                      "0.1",
                                                      ""});
}

TEST_CASE("srun command: where a step has to ask for GPUs it asks for its node's") {
  AgentSteps asking = steps();
  asking.gpus = {4, 2};
  const auto words = srun_command(asking, NodeId{1}).arguments;
  const auto word = std::ranges::find(words, "--gpus-per-node=2");
  REQUIRE(word != words.end());
  CHECK(*(word + 1) == "/opt/ddprun");
}

TEST_CASE("srun command: what stood after dashes still does, and no program is none") {
  AgentSteps after = steps();
  after.command_line.after_dashes = true;
  const std::vector<std::string> arguments = srun_command(after, NodeId{0}).arguments;
  CHECK(std::ranges::find(arguments, "--") + 1 == std::ranges::find(arguments, "train"));
  AgentSteps none = steps();
  none.command_line.program.value.clear();
  none.command_line.arguments.clear();
  CHECK(srun_command(none, NodeId{0}).arguments.back() == "--node-rank=0");
}

TEST_CASE("srun command: what would tell srun otherwise is left out, and all else is passed on") {
  const Environment kept{{"PATH", "/bin"},
                         {"HF_HOME", "/scratch"},
                         {"SLURM_CONF", "/etc/slurm.conf"},
                         {"SLURM_JOB_ID", "12"},
                         {"SLURM_JOB_NAME", "train"},
                         {"SLURM_SUBMIT_DIR", "/home/me"},
                         {"SLURM_ARRAY_TASK_ID", "3"}};
  Environment all = kept;
  for (const char* name :
       {"SLURM_EXPORT_ENV",  "SRUN_EXPORT_ENV",     "SLURM_LABELIO",      "SLURM_STDOUTMODE",
        "SLURM_NO_KILL",     "SLURM_EXCLUSIVE",     "SLURM_HOSTFILE",     "SLURM_JOB_NODELIST",
        "SLURM_NODELIST",    "SLURM_GRES",          "SLURM_GPUS",         "SLURM_GPUS_PER_TASK",
        "SLURM_TASK_PROLOG", "SLURM_EPILOG",        "SLURM_DEBUG",        "SLURM_NTASKS",
        "SLURM_CPU_BIND",    "SLURM_CPUS_PER_TASK", "SLURM_MEM_PER_NODE", "SLURM_TRES_PER_TASK",
        "SRUN_CPUS_PER_TASK"}) {
    all[name] = "1";
  }
  CHECK(srun_environment(all, "") == kept);
}

TEST_CASE("srun command: the token's file is passed, where there is one") {
  CHECK(srun_environment({}, "/home/me/token") ==
        Environment{{"DDPRUN_TOKEN_FILE", "/home/me/token"}});
}

}  // namespace
}  // namespace ddprun
