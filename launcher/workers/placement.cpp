#include "launcher/workers/placement.hpp"

#include <fmt/format.h>

namespace ddprun {
namespace {

/// Neighbours of the same cores.
struct Row {
  CoreSet workers;  // numbers like cores
  CoreSet gpus;
  CoreSet cores;
};

/// "GPU 0", "GPUs 0-3".
std::string named(std::string_view thing, const CoreSet& numbers) {
  return fmt::format("{}{} {}", thing, numbers.size() == 1 ? "" : "s", text_of_cores(numbers));
}

std::string row_text(const Row& row) {
  std::string text = named("worker", row.workers) + (row.workers.size() == 1 ? " has " : " have ");
  if (!row.gpus.empty()) text += named("GPU", row.gpus);
  if (!row.gpus.empty() && !row.cores.empty()) text += " and ";
  if (!row.cores.empty()) text += named("core", row.cores);
  return text;
}

}  // namespace

std::string placement_text(const WorkerSetup& setup, int worker_count) {
  if (setup.gpu_count == 0 && setup.cores.empty()) return {};
  std::vector<Row> rows;
  for (int i = 0; i < worker_count; ++i) {
    const CoreSet cores =
        setup.cores.empty() ? CoreSet() : setup.cores.at(static_cast<std::size_t>(i));
    if (rows.empty() || rows.back().cores != cores) rows.push_back({{}, {}, cores});
    rows.back().workers.insert(setup.workers_before + i);
    if (const auto gpu = gpu_of(setup, LocalRank{i})) rows.back().gpus.insert(*gpu);
  }
  std::string text;
  for (const Row& row : rows) text += (text.empty() ? "" : "; ") + row_text(row);
  return fmt::format("{}: {}", setup.host, text);
}

}  // namespace ddprun
