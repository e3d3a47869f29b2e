#include "launcher/devices/read_topology.hpp"

#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <string>
#include <utility>

namespace ddprun {
namespace {

/// Empty if there is no such file.
std::string first_line(const std::filesystem::path& name) {
  std::ifstream file(name);
  std::string line;
  std::getline(file, line);
  return std::string(trimmed(line));
}

int number_in(const std::filesystem::path& name) {
  const auto number = parse_count(first_line(name));
  return number && *number <= core_number_max ? static_cast<int>(*number) : -1;
}

/// The lowest core of a list; -1 if there is none.
int lowest_in(const std::filesystem::path& name) {
  const auto cores = parse_cores(first_line(name));
  return cores && !cores->empty() ? *cores->begin() : -1;
}

/// The cache of the highest level; what holds instructions alone does not count.
int core_complex(const std::filesystem::path& caches) {
  int level_max = -1;
  int lowest = -1;
  std::error_code error;
  for (const auto& cache : std::filesystem::directory_iterator(caches, error)) {
    if (!cache.path().filename().string().starts_with("index")) continue;
    const int level = number_in(cache.path() / "level");
    if (first_line(cache.path() / "type") == "Instruction" || level <= level_max) continue;
    level_max = level;
    lowest = lowest_in(cache.path() / "shared_cpu_list");
  }
  return lowest;
}

}  // namespace

Topology read_topology(const CoreSet& allowed, const std::filesystem::path& root) {
  Topology topology;
  std::error_code error;
  const auto nodes = root / "sys/devices/system/node";
  for (const auto& folder : std::filesystem::directory_iterator(nodes, error)) {
    const std::string name = folder.path().filename().string();
    if (!name.starts_with("node")) continue;
    const auto number = parse_count(name.substr(4));
    auto cores = parse_cores(first_line(folder.path() / "cpulist"));
    if (!number || !cores || cores->empty()) continue;
    topology.nodes[static_cast<int>(*number)] = *std::move(cores);
  }
  for (const int core : allowed) {
    const auto folder = root / fmt::format("sys/devices/system/cpu/cpu{}", core);
    const int physical = lowest_in(folder / "topology/thread_siblings_list");
    topology.cores[core] = {.package = number_in(folder / "topology/physical_package_id"),
                            .physical = physical < 0 ? core : physical,
                            .core_complex = core_complex(folder / "cache")};
  }
  return topology;
}

int read_numa_node(const std::string& pci_address, const std::filesystem::path& root) {
  return number_in(root / "sys/bus/pci/devices" / pci_address / "numa_node");
}

}  // namespace ddprun
