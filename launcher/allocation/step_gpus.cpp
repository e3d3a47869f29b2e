#include "launcher/allocation/step_gpus.hpp"

#include "launcher/allocation/task_counts.hpp"
#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace ddprun {
namespace {

constexpr int gpus_per_node_max = 1024;
constexpr int gpus_max = 1'000'000;

/// "4", or "a100:4" with the GPU's type; nothing for anything else, such as numbers of two types.
std::optional<int> gpus_in(const Environment& environment, const char* name, int count_max) {
  const std::string text = find_variable(environment, name).value_or("");
  if (text.find(',') != std::string::npos) return std::nullopt;
  const auto count = parse_count(text.substr(text.rfind(':') + 1));
  if (!count || *count > count_max) return std::nullopt;
  return static_cast<int>(*count);
}

/// Slurm may give one node more of them than another.
Result<int> share_of_all(const Environment& environment, int all, std::size_t node_count) {
  const int share = all / static_cast<int>(node_count);
  const int here = gpus_in(environment, "SLURM_GPUS_ON_NODE", gpus_per_node_max).value_or(share);
  if (here == share && all % static_cast<int>(node_count) == 0) return share;
  return Error(ExitStatus::usage,
               fmt::format("Slurm has not given out the job's --gpus={} evenly to its {} nodes, so "
                           "ddprun cannot request the share of each node",
                           all,
                           node_count),
               "",
               "write #SBATCH --gpus-per-node=N instead of --gpus");
}

}  // namespace

Result<std::vector<int>> gpus_of_steps(const Environment& environment, std::size_t node_count) {
  const int all = gpus_in(environment, "SLURM_GPUS", gpus_max).value_or(0);
  if (all > 0) {
    if (const auto each = gpus_in(environment, "SLURM_GPUS_PER_NODE", gpus_per_node_max)) {
      return std::vector<int>(node_count, *each);
    }
    const auto share = share_of_all(environment, all, node_count);
    if (!share) return share.error();
    return std::vector<int>(node_count, *share);
  }
  const auto each = gpus_in(environment, "SLURM_GPUS_PER_TASK", gpus_per_node_max);
  constexpr const char* list_name = "SLURM_TASKS_PER_NODE";
  const auto list = find_variable(environment, list_name);
  if (!each || !list) return std::vector<int>();
  auto counts = parse_task_counts({*list, list_name});
  if (!counts) return counts.error();
  if (counts->size() != node_count) return std::vector<int>();
  for (int& count : *counts) count *= *each;
  return *std::move(counts);
}

}  // namespace ddprun
