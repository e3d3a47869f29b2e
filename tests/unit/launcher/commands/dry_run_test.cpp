#include "launcher/commands/dry_run.hpp"

#include "launcher/options/option_table.hpp"
#include "tests/unit/launcher/commands/dry_run_kit.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace ddprun {
namespace {

DryRun dry_run_of(const Job& job) {
  return plan_dry_run(job, environment_of_user());
}

TEST_CASE("dry run: every option is there, given ones apart from defaults") {
  const DryRun plan = dry_run_of(job_of_two());
  CHECK(plan.given == DryRun::Values{{"nproc-per-node", {"2", "the command line"}},
                                     {"grace", {"3s", "DDPRUN_GRACE"}}});
  std::size_t count = plan.given.size() + plan.defaults.size();
  for (const auto& [name, setting] : plan.defaults) CHECK(setting.origin == "default");
  for (const OptionSpec& option : option_table()) count -= option.command_only ? 0 : 1;
  CHECK(count == 0);
  CHECK(plan.program == Setting{"./train", "the command line"});
  CHECK(plan.env.at("NCCL_DEBUG") == Setting{"WARN", "job.yaml:3:8"});
}

TEST_CASE("dry run: what all workers share is apart from what differs") {
  const DryRun plan = dry_run_of(job_of_two());
  REQUIRE(plan.workers.size() == 2);
  CHECK(plan.workers[0].variables ==
        Environment{{"LOCAL_RANK", "0"}, {"RANK", "0"}, {"ROLE_RANK", "0"}});
  CHECK(plan.workers[1].variables ==
        Environment{{"LOCAL_RANK", "1"}, {"RANK", "1"}, {"ROLE_RANK", "1"}});
  CHECK(plan.shared.at("WORLD_SIZE") == "2");
  CHECK(plan.shared.at("NCCL_DEBUG") == "WARN");
  CHECK(plan.shared.at("GLOO_SOCKET_IFNAME") == "lo");
  CHECK_FALSE(plan.shared.contains("PATH"));  // inherited
  CHECK(plan.removed == std::vector<std::string>{"DDPRUN_TOKEN"});
}

TEST_CASE("dry run: each worker has its own command") {
  const DryRun plan = dry_run_of(job_of_two());
  CHECK(plan.workers[1].executable == "./train");
  CHECK(plan.workers[1].command == std::vector<std::string>{"./train", "--rank=1"});
}

TEST_CASE("dry run: it says to which cores a worker is bound") {
  Job bound = job_of_two();
  CHECK(dry_run_of(bound).workers[1].cores.empty());
  bound.setup.cores = {{0, 1}, {2, 3, 8}};
  bound.setup.threads = {2, 3};
  const DryRun plan = dry_run_of(bound);
  CHECK(plan.workers[0].cores == "0-1");
  CHECK(plan.workers[1].cores == "2-3,8");
  CHECK(plan.workers[1].variables.at("OMP_NUM_THREADS") == "3");
}

TEST_CASE("dry run: it says which variables only the start chooses") {
  Job job = job_of_two();
  CHECK(dry_run_of(job).chosen_later == std::vector<std::string>{"DDPRUN_CONTROL_FD",
                                                                 "MASTER_PORT",
                                                                 "DDPRUN_JOB_ID",
                                                                 "TORCHELASTIC_RUN_ID",
                                                                 "TORCHELASTIC_ERROR_FILE"});
  job.options.rendezvous.job_id = "job7";
  CHECK(dry_run_of(job).chosen_later ==
        std::vector<std::string>{"DDPRUN_CONTROL_FD", "MASTER_PORT", "TORCHELASTIC_ERROR_FILE"});
}

TEST_CASE("dry run: a path below an id or in a folder that the start chooses is none yet") {
  Job job = job_of_two();
  const std::vector<std::string> with_path{"DDPRUN_CONTROL_FD",
                                           "MASTER_PORT",
                                           "DDPRUN_JOB_ID",
                                           "TORCHELASTIC_RUN_ID",
                                           "TORCHELASTIC_ERROR_FILE"};
  job.setup.log_dir = job.options.output.log_dir = "/logs";
  const DryRun below_id = dry_run_of(job);
  CHECK(below_id.chosen_later == with_path);
  for (const DryRun::Worker& worker : below_id.workers) {
    CHECK_FALSE(worker.variables.contains("TORCHELASTIC_ERROR_FILE"));
  }
  CHECK_FALSE(below_id.shared.contains("TORCHELASTIC_RUN_ID"));
  job.options.rendezvous.job_id = "job7";
  CHECK(dry_run_of(job).workers[1].variables.at("TORCHELASTIC_ERROR_FILE") ==
        "/logs/job7/1/1.error.json");
  job.setup.log_dir.clear();
  job.options.output.log_dir.clear();
  CHECK(dry_run_of(job).chosen_later ==
        std::vector<std::string>{"DDPRUN_CONTROL_FD", "MASTER_PORT", "TORCHELASTIC_ERROR_FILE"});
  CHECK_FALSE(dry_run_of(job).shared.contains("TORCHELASTIC_ERROR_FILE"));
  job.options.effective["log-dir"] = {"/dev/null", "the command line"};
  CHECK(dry_run_of(job).shared.at("TORCHELASTIC_ERROR_FILE").empty());
}

TEST_CASE("dry run: a node beyond the places of the job is a spare, and has no workers") {
  Job node = job_of_two();
  node.options.rendezvous.gathering.nodes_max = 2;
  node.options.rendezvous.gathering.spares = 2;
  node.options.rendezvous.endpoint = Endpoint{"n0", 29'400};
  node.options.rendezvous.node_rank = NodeId{2};
  const DryRun spare = dry_run_of(node);
  CHECK(spare.workers.empty());
  CHECK(spare.shared.empty());
  CHECK(spare.chosen_later.empty());
  CHECK(spare.meeting.ends_with(
      " This node is then a spare, without workers until another one is lost."));
  node.options.rendezvous.node_rank = NodeId{1};
  CHECK(dry_run_of(node).workers.size() == 2);
  CHECK(dry_run_of(node).meeting.find("spare") == std::string::npos);
}

TEST_CASE("dry run: what Slurm's GPUs change for workers is shown, also if it changes nothing") {
  Job narrowed = job_of_two();
  Environment own = environment_of_user();
  own["CUDA_VISIBLE_DEVICES"] = narrowed.setup.inherited["CUDA_VISIBLE_DEVICES"] = "1";
  CHECK_FALSE(plan_dry_run(narrowed, own).shared.contains("CUDA_VISIBLE_DEVICES"));
  narrowed.options.gpus.changes["CUDA_VISIBLE_DEVICES"] = "1";
  CHECK(plan_dry_run(narrowed, own).shared.at("CUDA_VISIBLE_DEVICES") == "1");
  narrowed.notes = {"workers are given 1"};
  CHECK(plan_dry_run(narrowed, own).notes == narrowed.notes);
}

TEST_CASE("dry run: what was found of Slurm is said") {
  const Environment script{
      {"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "n[0-3]"}, {"SLURMD_NODENAME", "n0"}};
  Source line;
  line.program = {"./train", "the command line"};
  Job made = job_of_two();
  made.options = assemble_options(line, script, {8, {}}).value();
  made.meeting.plan.is_head = true;
  const DryRun plan = dry_run_of(made);
  CHECK(plan.given.front() ==
        std::pair<std::string, Setting>{"nnodes", {"4", "SLURM_JOB_NODELIST"}});
  CHECK(plan.situation == "This is the script of Slurm job 12 on 4 nodes.");
  CHECK(plan.meeting ==
        "Agents are started by srun on n[0-3]. Ranks are shown as if each had 1 worker.");
}

TEST_CASE("dry run: of many nodes it shows where they meet, and this one's part") {
  Job second = job_of_two();
  second.options.rendezvous.gathering.nodes_max = 3;
  second.options.rendezvous.endpoint = Endpoint{"n0", 29'400};
  second.options.rendezvous.node_rank = NodeId{2};
  const DryRun plan = dry_run_of(second);
  CHECK(plan.meeting ==
        "The nodes of job job7 meet at n0:29400, which is another node. Ranks are shown as "
        "if all 3 had joined, each with 2 workers.");
  CHECK(plan.workers[0].variables.at("RANK") == "4");
  CHECK(plan.shared.at("WORLD_SIZE") == "6");
  CHECK(plan.shared.at("GROUP_RANK") == "2");
  CHECK(plan.shared.at("MASTER_ADDR") == "n0");
  CHECK(plan.chosen_later ==
        std::vector<std::string>{"DDPRUN_CONTROL_FD", "MASTER_PORT", "TORCHELASTIC_ERROR_FILE"});
  second.options.rendezvous.node_rank.reset();
  second.meeting.plan = {true, true, "10.0.0.1", 29'400, "10.0.0.1"};
  const DryRun head = dry_run_of(second);
  CHECK(head.meeting.find("n0:29400, which is this node.") != std::string::npos);
  CHECK(head.shared.at("MASTER_ADDR") == "10.0.0.1");
  CHECK(head.workers[0].variables.at("RANK") == "0");
}

TEST_CASE("dry run: a coordinator starts no workers, and shows what it would coordinate") {
  Job coordinator = coordinator_of_four();
  const DryRun plan = dry_run_of(coordinator);
  CHECK(plan.meeting ==
        "The coordinator of job job7 would listen at n0:29400 for 2 to 4 nodes. It starts no "
        "workers.");
  CHECK(plan.workers.empty());
  CHECK(plan.program == Setting{});
  CHECK((plan.shared.empty() && plan.removed.empty() && plan.chosen_later.empty()));
  const auto has = [](const DryRun::Values& values, const std::string& name) {
    return std::ranges::find(values, name, &DryRun::Values::value_type::first) != values.end();
  };
  CHECK(has(plan.given, "nnodes"));
  CHECK(has(plan.defaults, "max-restarts"));
  for (const char* of_workers : {"nproc-per-node", "stdin", "console"}) {
    CHECK_FALSE((has(plan.given, of_workers) || has(plan.defaults, of_workers)));
  }
  coordinator.options.rendezvous.gathering.nodes_min = 4;
  coordinator.options.rendezvous.endpoint->port = 0;
  CHECK(dry_run_of(coordinator).meeting ==
        "The coordinator of job job7 would listen at n0, at any port that is free, for 4 nodes. It "
        "starts no workers.");
}

}  // namespace
}  // namespace ddprun
