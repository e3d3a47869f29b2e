#include "launcher/slurm/slurm_control.hpp"

#include "launcher/options/variables.hpp"
#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <sstream>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

/// Elements of an array have numbers of their own, but one has the array's. Variables that sbatch
/// has passed on from another job's element are not this job's.
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
  control.ask_preempted =
      command({"squeue", "--noheader", jobs, "--Format=PreemptTime:40"}, environment);
  control.ask_state = command({"scontrol", "show", "job", control.job}, environment);
  control.requeue = command({"scontrol", "requeue", control.job}, environment);
  control.restarts_count = allocation.restarts_count;
  control.end_time = count_in(environment, "SLURM_JOB_END_TIME");
  return control;
}

std::optional<EndTime> parse_end_time(std::string_view text) {
  if (text == "NONE" || text == "N/A") return std::make_optional(EndTime());
  const EndTime end = parse_count(text);
  return end ? std::make_optional(end) : std::nullopt;
}

std::optional<SlurmState> parse_state(const std::string& text) {
  constexpr std::string_view state_key = "JobState=";
  constexpr std::string_view restarts_key = "Restarts=";
  std::istringstream words(text);
  std::string word;
  std::optional<std::string> state;
  std::optional<std::int64_t> restarts;
  while (words >> word) {
    if (word.starts_with(state_key)) state = word.substr(state_key.size());
    if (word.starts_with(restarts_key)) restarts = parse_count(word.substr(restarts_key.size()));
  }
  if (!state || !restarts) return std::nullopt;
  return SlurmState{*state != "RUNNING", *restarts};
}

bool says_preempted(std::string_view text) {
  constexpr std::string_view digits = "0123456789";
  if (text.empty() || text == "0" || digits.find(text.front()) == std::string_view::npos) {
    return false;
  }
  return text.find(' ') == std::string_view::npos;
}

}  // namespace ddprun
