#include "launcher/slurm_control.hpp"

#include "launcher/values.hpp"

#include <fmt/format.h>

#include <sstream>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

std::optional<std::int64_t> count_in(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : parse_count(found->second);
}

/// Elements of an array have numbers of their own, but one's is also the array's. What sbatch has
/// handed on from another job's element is not about this one.
std::string name_of(const Allocation& allocation, const Environment& environment) {
  const auto array = count_in(environment, "SLURM_ARRAY_JOB_ID");
  const auto element = count_in(environment, "SLURM_ARRAY_TASK_ID");
  if (!array || !element || std::to_string(*array) != allocation.job_id) return allocation.job_id;
  return fmt::format("{}_{}", *array, *element);
}

Command command(std::vector<std::string> words, const Environment& environment) {
  Command made;
  made.executable = find_on_path(words.front(), environment);
  made.arguments = std::move(words);
  return made;
}

/// Variables that change what the commands print, or which cluster they ask.
bool changes_answers(std::string_view name) {
  return name.starts_with("SQUEUE_") || name.starts_with("SCONTROL_") || name == "SLURM_CLUSTERS";
}

}  // namespace

SlurmControl slurm_control(const Allocation& allocation, const Environment& environment) {
  SlurmControl control;
  control.job = name_of(allocation, environment);
  control.environment = environment;
  std::erase_if(control.environment, [](const auto& each) {
    return changes_answers(each.first) || is_secret_variable(each.first);
  });
  control.environment["SLURM_TIME_FORMAT"] = "%s";  // no time zones; and %L is in whole minutes
  const std::string jobs = "--jobs=" + control.job;
  control.ask_end = command({"squeue", "--noheader", jobs, "--format=%e"}, environment);
  control.ask_state = command({"squeue",
                               "--noheader",
                               "--states=all",
                               jobs,
                               "--Format=State:20,RestartCnt:12,PreemptTime:40"},
                              environment);
  control.requeue = command({"scontrol", "requeue", control.job}, environment);
  control.restarts_count = parse_count(allocation.restarts).value_or(0);
  control.end_time = count_in(environment, "SLURM_JOB_END_TIME");
  return control;
}

std::optional<EndTime> parse_end_time(std::string_view text) {
  if (text == "NONE" || text == "N/A") return std::make_optional(EndTime());
  const EndTime end = parse_count(text);
  return end ? std::make_optional(end) : std::nullopt;
}

std::optional<SlurmState> parse_state(const std::string& text) {
  std::istringstream words(text);
  std::string state;
  std::string restarts;
  std::string preempted;
  std::string more;
  if (!(words >> state >> restarts >> preempted) || words >> more) return std::nullopt;
  const auto count = parse_count(restarts);
  if (!count) return std::nullopt;
  const bool has_time = preempted.front() >= '0' && preempted.front() <= '9' && preempted != "0";
  return SlurmState{state == "CANCELLED", has_time, *count};
}

}  // namespace ddprun
