#include "launcher/devices/binding.hpp"

#include "launcher/text/text_of_count.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace ddprun {
namespace {

Error refused_binding(const BindOptions& options, std::string why, std::string fix) {
  return {ExitStatus::usage, options.text + " " + why, "", std::move(fix)};
}

/// The NUMA nodes with the cores that may be used there. Where Linux tells of none, the machine is
/// one node.
std::map<int, CoreSet> usable_nodes(const Topology& topology, const CoreSet& allowed) {
  std::map<int, CoreSet> usable;
  for (const auto& [number, cores] : topology.nodes) {
    CoreSet here = intersection(cores, allowed);
    if (!here.empty()) usable.emplace(number, std::move(here));
  }
  if (usable.empty()) usable.emplace(0, allowed);
  return usable;
}

/// Sets of cores that share something, in order of what `key` says of each.
template <class Key>
std::map<int, CoreSet> grouped(const CoreSet& cores, const Key& key) {
  std::map<int, CoreSet> groups;
  for (const int core : cores) groups[key(core)].insert(core);
  return groups;
}

std::map<int, CoreSet> physical_cores(const Topology& topology, const CoreSet& cores) {
  return grouped(cores, [&](int core) { return topology.cores.at(core).physical; });
}

/// The NUMA node of each worker.
std::vector<int> homes(const Topology& topology,
                       const std::map<int, CoreSet>& usable,
                       const std::vector<int>& gpu_nodes) {
  std::vector<int> node_of_core;  // in order, a physical core each
  for (const auto& [number, cores] : usable) {
    node_of_core.insert(node_of_core.end(), physical_cores(topology, cores).size(), number);
  }
  const auto is_known = [&](int node) { return usable.contains(node); };
  const auto spread_count =
      gpu_nodes.size() - static_cast<std::size_t>(std::ranges::count_if(gpu_nodes, is_known));
  std::vector<int> found;
  std::size_t spread = 0;
  for (const int node : gpu_nodes) {
    found.push_back(
        is_known(node) ? node : node_of_core.at(spread++ * node_of_core.size() / spread_count));
  }
  return found;
}

/// A worker among those of its NUMA node.
struct Share {
  std::size_t index = 0;
  std::size_t count = 1;
};

Share share_of(std::size_t worker, const std::vector<int>& homes) {
  const auto before = homes.begin() + static_cast<std::ptrdiff_t>(worker);
  return {static_cast<std::size_t>(std::count(homes.begin(), before, homes[worker])),
          static_cast<std::size_t>(std::ranges::count(homes, homes[worker]))};
}

/// All cores of the nodes whose first core is of the same socket as that of `home`.
Result<CoreSet> socket_cores(const BindOptions& options,
                             const Topology& topology,
                             const std::map<int, CoreSet>& usable,
                             int home) {
  const auto socket_of = [&](int node) {
    return topology.cores.at(*usable.at(node).begin()).package;
  };
  if (socket_of(home) < 0) {
    return refused_binding(
        options,
        fmt::format("needs the socket of core {}, which /sys/devices/system/cpu does not tell",
                    *usable.at(home).begin()),
        "write node");
  }
  CoreSet all;
  for (const auto& [number, cores] : usable) {
    if (socket_of(number) == socket_of(home)) all.insert(cores.begin(), cores.end());
  }
  return all;
}

/// Whole physical cores in order; the first workers get one more if they do not divide evenly.
Result<CoreSet> exclusive_cores(const BindOptions& options,
                                const Topology& topology,
                                const CoreSet& cores,
                                const Share& share) {
  const std::map<int, CoreSet> physical = physical_cores(topology, cores);
  if (physical.size() < share.count) {
    return refused_binding(options,
                           fmt::format("gives each worker cores of its own, but {} have {}: {}",
                                       text_of_count(share.count, "worker"),
                                       text_of_count(physical.size(), "physical core"),
                                       text_of_cores(cores)),
                           "start fewer workers, or let them share the cores of a NUMA node");
  }
  const std::size_t each = physical.size() / share.count;
  const std::size_t extra = physical.size() % share.count;
  const std::size_t first = share.index * each + std::min(share.index, extra);
  const std::size_t last = first + each + (share.index < extra ? 1 : 0);
  CoreSet chosen;
  std::size_t index = 0;
  for (const auto& [number, threads] : physical) {
    if (first <= index && index < last) chosen.insert(threads.begin(), threads.end());
    ++index;
  }
  return chosen;
}

/// In turn, those with more cores first.
Result<CoreSet> complex_cores(const BindOptions& options,
                              const Topology& topology,
                              const CoreSet& cores,
                              const Share& share) {
  const auto groups =
      grouped(cores, [&](int core) { return topology.cores.at(core).core_complex; });
  if (groups.contains(-1)) {
    return refused_binding(
        options,
        fmt::format("needs the caches of core {}, which /sys/devices/system/cpu does not tell",
                    *groups.at(-1).begin()),
        "write exclusive or node");
  }
  std::vector<CoreSet> sets;
  for (const auto& [number, members] : groups) sets.push_back(members);
  std::ranges::stable_sort(
      sets, std::ranges::greater{}, [](const CoreSet& set) { return set.size(); });
  return sets[share.index % sets.size()];
}

/// The user's lists, as far as they are allowed.
Result<std::vector<CoreSet>> listed_cores(const BindOptions& options,
                                          const CoreSet& allowed,
                                          std::size_t worker_count) {
  if (options.lists.size() < worker_count) {
    return refused_binding(options,
                           fmt::format("has {} for {}",
                                       text_of_count(options.lists.size(), "list"),
                                       text_of_count(worker_count, "worker")),
                           "write one list for each worker of the node, such as 0-3:4-7");
  }
  std::vector<CoreSet> bound;
  for (std::size_t i = 0; i < worker_count; ++i) {
    bound.push_back(intersection(options.lists[i], allowed));
    if (!bound.back().empty()) continue;
    return refused_binding(options,
                           fmt::format("leaves worker {} no core: of {} none may be used here",
                                       i,
                                       text_of_cores(options.lists[i])),
                           fmt::format("choose among {}", text_of_cores(allowed)));
  }
  return bound;
}

}  // namespace

Result<std::vector<CoreSet>> bind_workers(const BindOptions& options,
                                          const Topology& topology,
                                          const CoreSet& allowed,
                                          const std::vector<int>& gpu_nodes) {
  if (options.binding == Binding::none) return std::vector<CoreSet>();
  if (options.binding == Binding::listed) return listed_cores(options, allowed, gpu_nodes.size());
  const auto usable = usable_nodes(topology, allowed);
  const std::vector<int> home = homes(topology, usable, gpu_nodes);
  std::vector<CoreSet> bound;
  for (std::size_t i = 0; i < home.size(); ++i) {
    const CoreSet& cores = usable.at(home[i]);
    Result<CoreSet> chosen = cores;
    if (options.binding == Binding::socket) {
      chosen = socket_cores(options, topology, usable, home[i]);
    } else if (options.binding == Binding::exclusive) {
      chosen = exclusive_cores(options, topology, cores, share_of(i, home));
    } else if (options.binding == Binding::core_complex) {
      chosen = complex_cores(options, topology, cores, share_of(i, home));
    }
    if (!chosen) return chosen.error();
    bound.push_back(*std::move(chosen));
  }
  return bound;
}

std::vector<int> threads_of(const std::vector<CoreSet>& workers) {
  std::map<int, int> workers_on;  // by core
  for (const CoreSet& cores : workers) {
    for (const int core : cores) ++workers_on[core];
  }
  std::vector<int> threads;
  for (const CoreSet& cores : workers) {
    int sharers = 1;
    for (const int core : cores) sharers = std::max(sharers, workers_on[core]);
    threads.push_back(std::max(1, static_cast<int>(cores.size()) / sharers));
  }
  return threads;
}

}  // namespace ddprun
