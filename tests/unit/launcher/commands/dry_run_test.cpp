#include "launcher/commands/dry_run.hpp"

#include "launcher/options/option_table.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace ddprun {
namespace {

Job job() {
  Source line;
  line.program = {"./train", "the command line"};
  line.settings["nproc-per-node"] = {"2", "the command line"};
  Job made;
  made.options = assemble_options(line, {{"DDPRUN_GRACE", "3s"}}, {8, {{"GPU-a"}}}).value();
  made.options.environment["NCCL_DEBUG"] = {"WARN", "job.yaml:3:8"};
  made.command = {"./train", {"./train", "--rank=${rank}"}};
  made.setup.inherited = {{"PATH", "/bin"}, {"NCCL_DEBUG", "WARN"}};
  made.setup.job_id = "job7";
  made.setup.host = "n0";
  made.setup.interface = "lo";
  made.setup.core_count = 8;
  made.setup.gpu_count = 1;
  return made;
}

bool has_line(const std::string& text, const std::string& line) {
  return fmt::format("\n{}", text).find(fmt::format("\n{}\n", line)) != std::string::npos;
}

TEST_CASE("dry run: what was found of Slurm is said") {
  const Environment script{
      {"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "n[0-3]"}, {"SLURMD_NODENAME", "n0"}};
  Source line;
  line.program = {"./train", "the command line"};
  Job made = job();
  made.options = assemble_options(line, script, {8, {}}).value();
  made.meeting.plan.is_head = true;
  const std::string text = dry_run_text(made);
  CHECK(has_line(text, "nnodes           4                        SLURM_JOB_NODELIST"));
  CHECK(has_line(text, "This is the script of Slurm job 12 on 4 nodes."));
  CHECK(has_line(text,
                 "Agents are started by srun on n[0-3]. Ranks are shown as if each had 1 worker."));
}

TEST_CASE("dry run: every option has its value and where that came from") {
  const std::string text = dry_run_text(job());
  CHECK(has_line(text, "nproc-per-node   2                        the command line"));
  CHECK(has_line(text, "grace            3s                       DDPRUN_GRACE"));
  CHECK(has_line(text, "restart-grace    1s                       default"));
  CHECK(has_line(text, "snapshot         -                        default"));
  CHECK(has_line(text, "standalone       false                    default"));
  CHECK(has_line(text, "program          ./train                  the command line"));
  CHECK(has_line(text, "env NCCL_DEBUG   WARN                     job.yaml:3:8"));
  for (const OptionSpec& option : option_table()) {
    const bool named = text.find(fmt::format("\n{} ", option.name)) != std::string::npos;
    CHECK(named == !option.command_only);
  }
}

TEST_CASE("dry run: the table says which rank would run where, on what, and how") {
  const std::string text = dry_run_text(job());
  CHECK(has_line(text, "   0  n0               gpu 0    4        ./train --rank=0"));
  CHECK(has_line(text, "   1  n0               gpu 0    4        ./train --rank=1"));
  Job without_gpu = job();
  without_gpu.setup.gpu_count = 0;
  CHECK(has_line(dry_run_text(without_gpu),
                 "   1  n0               cpu      4        ./train --rank=1"));
}

TEST_CASE("dry run: what Slurm's GPUs change for workers is shown, and what is said of them") {
  Job narrowed = job();
  narrowed.setup.inherited["CUDA_VISIBLE_DEVICES"] = "1";
  CHECK_FALSE(has_line(dry_run_text(narrowed), "  CUDA_VISIBLE_DEVICES=1"));
  narrowed.options.gpus.changes["CUDA_VISIBLE_DEVICES"] = "1";
  narrowed.notes = {"workers are given 1"};
  CHECK(has_line(dry_run_text(narrowed), "  CUDA_VISIBLE_DEVICES=1"));
  CHECK(has_line(dry_run_text(narrowed), "Note: workers are given 1."));
}

TEST_CASE("dry run: each worker's variables are shown, those that it merely inherits are not") {
  const std::string text = dry_run_text(job());
  CHECK(has_line(text, "Environment of rank 1:"));
  CHECK(has_line(text, "  RANK=1"));
  CHECK(has_line(text, "  WORLD_SIZE=2"));
  CHECK(has_line(text, "  MASTER_PORT=(chosen at the start)"));
  CHECK(has_line(text, "  NCCL_DEBUG=WARN"));
  CHECK_FALSE(has_line(text, "  PATH=/bin"));
}

TEST_CASE("dry run: of many nodes it shows where they meet, and this one's part") {
  Job second = job();
  second.options.rendezvous.gathering.nodes_max = 3;
  second.options.rendezvous.endpoint = Endpoint{"n0", 29'400};
  second.options.rendezvous.node_rank = NodeId{2};
  const std::string text = dry_run_text(second);
  CHECK(
      has_line(text,
               "The nodes of job job7 meet at n0:29400, which is another node. Ranks are shown as "
               "if all 3 had joined, each with 2 workers."));
  CHECK(has_line(text, "   4  n0               gpu 0    4        ./train --rank=4"));
  CHECK(has_line(text, "  WORLD_SIZE=6"));
  CHECK(has_line(text, "  GROUP_RANK=2"));
  CHECK(has_line(text, "  MASTER_ADDR=n0"));
  second.options.rendezvous.node_rank.reset();
  second.meeting.plan = {true, true, "10.0.0.1", 29'400, "10.0.0.1"};
  const std::string head = dry_run_text(second);
  CHECK(head.find("n0:29400, which is this node.") != std::string::npos);
  CHECK(has_line(head, "  MASTER_ADDR=10.0.0.1"));
  CHECK(has_line(head, "  RANK=0"));
}

}  // namespace
}  // namespace ddprun
