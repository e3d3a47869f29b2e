#include "launcher/commands/worker_cores.hpp"

#include "launcher/devices/binding.hpp"
#include "launcher/devices/cores.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ddprun {
namespace {

/// The NUMA nodes of the GPUs of `count` workers, the first of which has LOCAL_RANK `first`.
std::vector<int> gpu_nodes(const GpuView& gpus, int first, int count) {
  std::vector<int> nodes;
  for (int i = first; i < first + count; ++i) {
    const std::size_t gpu = gpus.count == 0 ? 0 : static_cast<std::size_t>(i % gpus.count);
    nodes.push_back(gpu < gpus.numa_nodes.size() ? gpus.numa_nodes[gpu] : -1);
  }
  return nodes;
}

}  // namespace

Result<void> give_cores(const Environment& environment,
                        const CoreSet& allowed,
                        const Topology& topology,
                        Job& job) {
  BindOptions binding = job.options.binding;
  const auto& task = job.options.allocation;
  const bool has_tasks = job.options.is_task_of_many() && task->tasks_here > 1;
  if (has_tasks && !binding.lists.empty()) {
    const auto before = std::min(static_cast<std::size_t>(task->local_task), binding.lists.size());
    binding.lists.erase(binding.lists.begin(),
                        binding.lists.begin() + static_cast<std::ptrdiff_t>(before));
  }
  const bool shares = has_tasks && binding.lists.empty() &&
                      !has_own_cores(environment, static_cast<int>(allowed.size()));
  auto nodes =
      shares ? gpu_nodes(job.options.gpus, 0, task->tasks_here)
             : gpu_nodes(job.options.gpus, job.setup.workers_before, job.options.worker_count);
  // Each of these tasks sees GPUs of its own, and cannot know where the others' are.
  if (shares && job.options.gpus.is_of_one_task()) nodes.assign(nodes.size(), -1);
  auto bound = bind_workers(binding, topology, allowed, nodes);
  if (!bound) return bound.error();
  if (bound->empty()) return {};
  job.setup.cores = *std::move(bound);
  job.setup.threads = threads_of(job.setup.cores);
  if (!shares) return {};
  const auto own = static_cast<std::size_t>(task->local_task);
  job.setup.cores = {job.setup.cores.at(own)};
  job.setup.threads = {job.setup.threads.at(own)};
  return {};
}

void limit_threads(Job& job) {
  const int share = std::max(1, job.setup.core_count / job.options.worker_count);
  for (int& threads : job.setup.threads) threads = std::min(threads, share);
}

}  // namespace ddprun
