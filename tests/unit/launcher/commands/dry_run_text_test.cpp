#include "launcher/commands/dry_run_text.hpp"

#include "tests/unit/launcher/commands/dry_run_kit.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace ddprun {
namespace {

std::string text_of_dry_run(const Job& job) {
  return dry_run_text(plan_dry_run(job, environment_of_user()));
}

bool has_line(const std::string& text, const std::string& line) {
  return fmt::format("\n{}", text).find(fmt::format("\n{}\n", line)) != std::string::npos;
}

TEST_CASE("dry run text: what was given comes first with its origin, defaults in few lines") {
  const std::string text = text_of_dry_run(job_of_two());
  CHECK(
      text.starts_with("OPTION           VALUE                    FROM\n"
                       "nproc-per-node   2                        the command line\n"
                       "grace            3s                       DDPRUN_GRACE\n"
                       "program          ./train                  the command line\n"
                       "env NCCL_DEBUG   WARN                     job.yaml:3:8\n"
                       "\nDefaults: nnodes=1, spares=0, "));
  CHECK(text.find("restart-grace=1s") != std::string::npos);
  CHECK(text.find("\nNot set: file, ") != std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
}

TEST_CASE("dry run text: a worker's command is one line for sh, after what all share") {
  Job job = job_of_two();
  job.setup.inherited["NOTE"] = "it's $5";
  job.setup.inherited["A.B"] = "x y";
  job.command.arguments.emplace_back("a b");
  const std::string text = text_of_dry_run(job);
  CHECK(has_line(text, "unset DDPRUN_TOKEN"));
  CHECK(has_line(text, "export WORLD_SIZE=2"));
  CHECK(has_line(text, "export NOTE='it'\\''s $5'"));
  CHECK_FALSE(has_line(text, "export TORCHELASTIC_ERROR_FILE="));
  CHECK(has_line(text, "LOCAL_RANK=1 RANK=1 ROLE_RANK=1 env 'A.B=x y' ./train --rank=1 'a b'"));
}

TEST_CASE("dry run text: a bound worker's command binds it") {
  Job job = job_of_two();
  job.setup.cores = {{0, 1}, {2, 3}};
  job.setup.threads = {2, 2};
  CHECK(has_line(text_of_dry_run(job),
                 "LOCAL_RANK=1 RANK=1 ROLE_RANK=1 taskset --cpu-list 2-3 ./train --rank=1"));
}

TEST_CASE("dry run text: what only the start chooses is no command") {
  const std::string text = text_of_dry_run(job_of_two());
  CHECK(text.find("\nexport MASTER_PORT") == std::string::npos);
  CHECK(text.find("\nexport DDPRUN_JOB_ID") == std::string::npos);
  CHECK(has_line(text,
                 "# Chosen at the start: DDPRUN_CONTROL_FD, MASTER_PORT, DDPRUN_JOB_ID, "
                 "TORCHELASTIC_RUN_ID,\n#   TORCHELASTIC_ERROR_FILE"));
  Job known = job_of_two();
  known.options.rendezvous.job_id = "job7";
  known.options.rendezvous.store = Endpoint{"127.0.0.1", 29'501};
  known.setup.log_dir = known.options.output.log_dir = "/logs";
  CHECK(has_line(text_of_dry_run(known), "export MASTER_PORT=29501"));
  CHECK(has_line(text_of_dry_run(known), "# Chosen at the start: DDPRUN_CONTROL_FD"));
  CHECK(text_of_dry_run(known).find("export DDPRUN_CONTROL_FD") == std::string::npos);
}

TEST_CASE("dry run text: no value of an option looks like a line for sh") {
  DryRun plan = plan_dry_run(job_of_two(), environment_of_user());
  plan.given = {{"role", {"x\n# What all workers share:\trm\x1b[2J\x7f \xc3\xa4", "line\n2"}}};
  CHECK(has_line(dry_run_text(plan),
                 "role             x\\n# What all workers share:\\trm\\x1b[2J\\x7f \xc3\xa4 "
                 "line\\n2"));
}

TEST_CASE("dry run text: variables that bash keeps for itself are set by env") {
  Job job = job_of_two();
  job.setup.inherited["UID"] = "7";
  const std::string text = text_of_dry_run(job);
  CHECK(text.find("export UID") == std::string::npos);
  CHECK(has_line(text, "LOCAL_RANK=1 RANK=1 ROLE_RANK=1 env UID=7 ./train --rank=1"));
}

TEST_CASE("dry run text: a spare has no commands") {
  DryRun plan = plan_dry_run(job_of_two(), environment_of_user());
  plan.workers.clear();
  plan.meeting = "Nodes meet.";
  CHECK(dry_run_text(plan).ends_with("\n\nNodes meet.\n"));
}

TEST_CASE("dry run text: 64 workers fit into 150 lines of moderate width") {
  Job many = job_of_two();
  many.options.worker_count = 64;
  many.setup.gpu_count = 8;
  const std::string text = text_of_dry_run(many);
  CHECK(std::ranges::count(text, '\n') <= 150);
  CHECK(text.find("\nDDPRUN_DEVICE=7 LOCAL_RANK=63 RANK=63 ROLE_RANK=63 ./train --rank=63\n") !=
        std::string::npos);
}

TEST_CASE("dry run text: the situation, the meeting and notes stand before what is for sh") {
  DryRun plan = plan_dry_run(job_of_two(), environment_of_user());
  plan.situation = "This is a job.";
  plan.meeting = "Nodes meet.";
  plan.notes = {"one", "two"};
  CHECK(dry_run_text(plan).find("\n\nThis is a job.\n\nNodes meet.\n\nNote: one.\n\nNote: two.\n"
                                "\n# What all workers share:\n") != std::string::npos);
}

TEST_CASE("dry run text: of a coordinator there is nothing for a shell") {
  const std::string text = text_of_dry_run(coordinator_of_four());
  CHECK(has_line(text, "nnodes           2:4                      the command line"));
  CHECK(text.find("\nprogram") == std::string::npos);
  CHECK(text.ends_with("nodes. It starts no workers.\n"));
}

}  // namespace
}  // namespace ddprun
