#include "launcher/slurm/srun_command.hpp"

#include "launcher/options/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace ddprun {
namespace {

/// Variables that srun's manual does not list as inputs, or that identify cluster and job.
constexpr std::array<std::string_view, 20> kept_variables{
    "SLURM_CLUSTER_NAME", "SLURM_CONF",          "SLURM_CONF_SERVER", "SLURM_JOBID",
    "SLURM_JOB_ACCOUNT",  "SLURM_JOB_END_TIME",  "SLURM_JOB_GID",     "SLURM_JOB_ID",
    "SLURM_JOB_NAME",     "SLURM_JOB_PARTITION", "SLURM_JOB_QOS",     "SLURM_JOB_START_TIME",
    "SLURM_JOB_UID",      "SLURM_JOB_USER",      "SLURM_JWT",         "SLURM_RESTART_COUNT",
    "SLURM_SACK_JWKS",    "SLURM_SACK_KEY",      "SLURM_SUBMIT_DIR",  "SLURM_SUBMIT_HOST"};

bool is_for_srun(std::string_view name) {
  if (name.starts_with("SRUN_")) return true;
  if (!name.starts_with("SLURM_") || name.starts_with("SLURM_ARRAY_")) return false;
  return std::ranges::find(kept_variables, name) == kept_variables.end();
}

/// The options as given, except those that the allocation decides, or that are for one node.
std::vector<std::string> passed_on(const Settings& settings) {
  const std::set<std::string_view> own{
      "nnodes", "rdzv-endpoint", "rdzv-id", "node-rank", "claim-dir", "report"};
  std::vector<std::string> words;
  for (const auto& [name, setting] : settings) {
    if (own.contains(name)) continue;
    const bool is_flag = find_option(name)->is_flag();
    words.push_back(is_flag ? "--" + name : fmt::format("--{}={}", name, setting.value));
  }
  return words;
}

}  // namespace

Command srun_command(const AgentSteps& steps, NodeId node) {
  const auto place = static_cast<std::size_t>(node.value);
  Command command;
  command.executable = steps.srun;
  command.arguments = {"srun",
                       "--nodes=1",  // --nodelist alone does not limit a step to that node
                       "--ntasks=1",
                       "--nodelist=" + steps.nodes.at(place),
                       "--overlap",
                       "--no-kill",
                       "--kill-on-bad-exit=0",
                       "--mem=0",
                       "--quiet",          // but for errors
                       "--cpu-bind=none",  // one task would be bound to one core
                       "--mpi=none",
                       "--export=ALL"};
  std::vector<std::string>& words = command.arguments;
  if (!steps.gpus.empty()) words.push_back(fmt::format("--gpus-per-node={}", steps.gpus.at(place)));
  words.push_back(steps.ddprun);
  words.emplace_back("agent");
  for (std::string& word : passed_on(steps.command_line.settings)) {
    words.push_back(std::move(word));
  }
  words.push_back(fmt::format("--nnodes={}:{}", steps.nodes_min, steps.nodes_max));
  words.push_back("--rdzv-endpoint=" + steps.endpoint);
  words.push_back("--rdzv-id=" + steps.job_id);
  words.push_back(fmt::format("--node-rank={}", node.value));
  const Source& source = steps.command_line;
  if (source.program.value.empty()) return command;
  if (source.after_dashes) words.emplace_back("--");
  words.push_back(source.program.value);
  words.insert(words.end(), source.arguments.begin(), source.arguments.end());
  return command;
}

Environment srun_environment(const Environment& inherited, const std::string& token_file) {
  Environment environment = inherited;
  std::erase_if(environment, [](const auto& each) { return is_for_srun(each.first); });
  if (!token_file.empty()) environment["DDPRUN_TOKEN_FILE"] = token_file;
  return environment;
}

}  // namespace ddprun
