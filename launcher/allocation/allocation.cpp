#include "launcher/allocation/allocation.hpp"

#include "launcher/allocation/hostlist.hpp"
#include "launcher/allocation/task_counts.hpp"
#include "launcher/text/text_of_count.hpp"
#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace ddprun {
namespace {

constexpr const char* way_out = "write --standalone to run on this node alone";

/// Slurm's numbers for the shell of salloc and for the batch script, if Slurm sets them.
constexpr std::array<std::string_view, 2> steps_of_scripts{"4294967290", "4294967291"};

Error makes_no_sense(const std::string& name, const std::string& value, const std::string& why) {
  return {ExitStatus::usage,
          fmt::format("{} is '{}', which {}", name, value, why),
          "Slurm sets it, so something else has changed it",
          way_out};
}

Error is_missing(const std::string& name, const std::string& job_id) {
  return {ExitStatus::usage,
          fmt::format("{} is not set, in Slurm job {}", name, job_id),
          "Slurm sets it, so something else has unset it",
          way_out};
}

/// The variable's number, from 0 to `max`.
Result<int> number_in(const Environment& environment,
                      const std::string& name,
                      const std::string& job_id,
                      std::int64_t max) {
  const auto value = find_variable(environment, name);
  if (!value) return is_missing(name, job_id);
  const auto number = parse_count(*value);
  if (!number || *number < 0 || *number > max) {
    return makes_no_sense(name, *value, fmt::format("is no number from 0 to {}", max));
  }
  return static_cast<int>(*number);
}

Result<std::vector<std::string>> nodes_in(const Environment& environment,
                                          const std::vector<const char*>& names,
                                          const std::string& job_id) {
  for (const char* name : names) {
    const auto value = find_variable(environment, name);
    if (!value) continue;
    auto nodes = expand_hosts({*value, name});
    if (!nodes) return nodes.error();
    if (nodes->empty()) return makes_no_sense(name, *value, "names no node");
    return *std::move(nodes);
  }
  return is_missing(names.front(), job_id);
}

/// Checks that only the job's first task has a terminal.
Result<void> check_terminal(const Environment& environment, const Allocation& task) {
  if (!environment.contains("SLURM_PTY_PORT") || task.task_count == 1) return {};
  return Error(ExitStatus::usage,
               fmt::format("this shell is one of {} tasks of Slurm step {}.{}, which srun --pty "
                           "has started: the other tasks run a shell, not ddprun",
                           task.task_count,
                           task.job_id,
                           task.step_id),
               "",
               "start ddprun from the shell of salloc or by srun without --pty, or write "
               "--standalone to run on this node alone");
}

Result<void> read_task(const Environment& environment, Allocation& task) {
  constexpr int tasks_max = 1'000'000;
  auto nodes = nodes_in(environment, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}, task.job_id);
  if (!nodes) return nodes.error();
  task.nodes = *std::move(nodes);
  const char* count_name =
      environment.contains("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  const auto count = number_in(environment, count_name, task.job_id, tasks_max);
  if (!count) return count.error();
  if (*count < 1) return makes_no_sense(count_name, "0", "is no number of tasks");
  task.task_count = *count;
  const auto number = number_in(environment, "SLURM_PROCID", task.job_id, *count - 1);
  if (!number) return number.error();
  task.task = *number;
  const auto node = number_in(environment, "SLURM_NODEID", task.job_id, hosts_max);
  if (!node) return node.error();

  const char* list_name = environment.contains("SLURM_STEP_TASKS_PER_NODE")
                              ? "SLURM_STEP_TASKS_PER_NODE"
                              : "SLURM_TASKS_PER_NODE";
  const auto list = find_variable(environment, list_name);
  if (!list) return is_missing(list_name, task.job_id);
  const auto counts = parse_task_counts({*list, list_name});
  if (!counts) return counts.error();
  const auto place = static_cast<std::size_t>(*node);
  if (counts->size() != task.nodes.size() || place >= counts->size() || counts->at(place) < 1) {
    return makes_no_sense(
        list_name, *list, fmt::format("is not for the step's {} nodes", task.nodes.size()));
  }
  task.tasks_here = counts->at(place);
  const auto local = number_in(environment, "SLURM_LOCALID", task.job_id, task.tasks_here - 1);
  if (!local) return local.error();
  task.local_task = *local;
  task.tasks_per_node_max = *std::ranges::max_element(*counts);
  return check_terminal(environment, task);
}

/// Whether the step's variables are of another job, from whose step this one was submitted: sbatch
/// passes them on, and Slurm does not remove them.
bool is_left_over(const Environment& environment) {
  const auto job_nodes = find_variable(environment, "SLURM_JOB_NODELIST");
  const auto step_nodes = find_variable(environment, "SLURM_STEP_NODELIST");
  if (!job_nodes || !step_nodes) return false;
  const auto all = expand_hosts({*job_nodes, "SLURM_JOB_NODELIST"});
  const auto those = expand_hosts({*step_nodes, "SLURM_STEP_NODELIST"});
  if (!all || !those) return false;  // their reader reports the error
  const auto tasks = find_variable(environment, "SLURM_TASKS_PER_NODE");
  const auto step_tasks = find_variable(environment, "SLURM_STEP_TASKS_PER_NODE");
  if (tasks && step_tasks && *tasks != *step_tasks) {
    const auto counts = parse_task_counts({*step_tasks, "SLURM_STEP_TASKS_PER_NODE"});
    if (counts && counts->size() == those->size()) return true;
  }
  const std::set<std::string> of_job(all->begin(), all->end());
  const std::set<std::string> of_step(those->begin(), those->end());
  const auto own = find_variable(environment, "SLURMD_NODENAME");
  return !std::ranges::includes(of_job, of_step) || (own && !of_step.contains(*own));
}

}  // namespace

bool Allocation::is_alone() const {
  if (situation == Situation::task) return task_count == 1;
  return nodes.size() == 1 && own_node == nodes.front();
}

std::string Allocation::text() const {
  const std::string size = text_of_count(nodes.size(), "node");
  if (situation == Situation::script) {
    const char* what = own_node.empty() ? "shell with" : "script of";
    return fmt::format("{} Slurm job {} on {}", what, job_id, size);
  }
  return fmt::format(
      "task {} of {} of Slurm step {}.{} on {}", task, task_count, job_id, step_id, size);
}

Result<std::optional<Allocation>> read_allocation(const Environment& environment) {
  const auto job_id = find_variable(environment, "SLURM_JOB_ID");
  if (!job_id) return std::optional<Allocation>();
  Allocation found;
  found.job_id = *job_id;
  if (!parse_count(*job_id)) return makes_no_sense("SLURM_JOB_ID", *job_id, "is no job's number");
  if (const auto size = find_variable(environment, "SLURM_HET_SIZE")) {
    return Error(ExitStatus::usage,
                 fmt::format("Slurm job {} is heterogeneous (SLURM_HET_SIZE is '{}'); ddprun "
                             "does not combine its components by itself",
                             *job_id,
                             *size),
                 "",
                 "start it on all nodes by srun --het-group with --nnodes, --rdzv-endpoint and "
                 "--rdzv-id, or write --standalone to run on this node alone");
  }
  found.own_node = find_variable(environment, "SLURMD_NODENAME").value_or("");
  found.submit_folder = find_variable(environment, "SLURM_SUBMIT_DIR").value_or("");
  const auto restarts = slurm_restarts(environment);
  if (!restarts) return restarts.error();
  found.restarts_count = *restarts;
  if (is_in_step(environment)) {
    found.situation = Situation::task;
    found.step_id = environment.at("SLURM_STEP_ID");
    if (!parse_count(found.step_id)) {
      return makes_no_sense("SLURM_STEP_ID", found.step_id, "is no step's number");
    }
    if (auto read = read_task(environment, found); !read) return read.error();
    return std::optional(std::move(found));
  }
  auto nodes = nodes_in(environment, {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}, *job_id);
  if (!nodes) return nodes.error();
  found.nodes = *std::move(nodes);
  if (std::ranges::find(found.nodes, found.own_node) == found.nodes.end()) found.own_node.clear();
  return std::optional(std::move(found));
}

Result<std::int64_t> slurm_restarts(const Environment& environment) {
  constexpr const char* name = "SLURM_RESTART_COUNT";
  const auto value = find_variable(environment, name);
  if (!value || !find_variable(environment, "SLURM_JOB_ID")) return std::int64_t{0};
  const auto count = parse_count(*value);
  if (!count) return makes_no_sense(name, *value, "is no number of restarts");
  return *count;
}

bool is_in_step(const Environment& environment) {
  const auto step = find_variable(environment, "SLURM_STEP_ID");
  if (!step || std::ranges::find(steps_of_scripts, *step) != steps_of_scripts.end()) return false;
  return !is_left_over(environment);
}

std::uint16_t port_of_step(const Allocation& task) {
  constexpr std::uint64_t first = 10'000;  // below Linux's ephemeral ports, from 32768 on
  constexpr std::uint64_t count = 18'997;  // a prime number
  constexpr std::uint64_t ports_per_job = 64;
  const auto number = [](const std::string& text) {
    return static_cast<std::uint64_t>(parse_count(text).value_or(0));
  };
  const std::uint64_t place =
      number(task.job_id) % count * ports_per_job + number(task.step_id) % ports_per_job;
  return static_cast<std::uint16_t>(first + place % count);
}

}  // namespace ddprun
