// Machines as Linux shows them in /sys, below a folder of the test.
#pragma once

#include "launcher/devices/read_topology.hpp"
#include "tests/unit/temp_folder.hpp"

#include <fmt/format.h>

#include <string>

namespace ddprun {

class ShownMachine {
 public:
  void add_node(int number, const std::string& cores) const {
    (void)root_.write(fmt::format("sys/devices/system/node/node{}/cpulist", number), cores + "\n");
  }
  /// `threads`: of its physical core; `sharing`: its last cache.
  void add_core(int number,
                int package,
                const std::string& threads,
                const std::string& sharing) const {
    const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/", number);
    (void)root_.write(folder + "topology/physical_package_id", fmt::format("{}\n", package));
    (void)root_.write(folder + "topology/thread_siblings_list", threads + "\n");
    add_cache(folder + "cache/index0/", "1", "Data", threads);
    add_cache(folder + "cache/index1/", "4", "Instruction", "0-99");
    add_cache(folder + "cache/index3/", "3", "Unified", sharing);
    (void)root_.write(folder + "cache/uevent", "");
  }
  void add_device(const std::string& address, const std::string& node) const {
    (void)root_.write("sys/bus/pci/devices/" + address + "/numa_node", node + "\n");
  }
  [[nodiscard]] Topology seen(const CoreSet& allowed) const {
    return read_topology(allowed, root_.path());
  }
  [[nodiscard]] const std::string& path() const { return root_.path(); }

 private:
  void add_cache(const std::string& folder,
                 const std::string& level,
                 const std::string& type,
                 const std::string& sharing) const {
    (void)root_.write(folder + "level", level + "\n");
    (void)root_.write(folder + "type", type + "\n");
    (void)root_.write(folder + "shared_cpu_list", sharing + "\n");
  }

  TempFolder root_;
};

/// Two sockets of two NUMA nodes each. A node has four physical cores of two hyperthreads, core c
/// and core c + 16, and two pairs of them share a cache: node 1 has 4-7 and 20-23, and caches of
/// 4,5,20,21 and 6,7,22,23.
inline void add_two_sockets(const ShownMachine& machine) {
  for (int node = 0; node < 4; ++node) {
    const int first = 4 * node;
    machine.add_node(node, fmt::format("{}-{},{}-{}", first, first + 3, first + 16, first + 19));
    for (int i = first; i < first + 4; ++i) {
      const int pair = i - i % 2;
      const std::string sharing = fmt::format("{}-{},{}-{}", pair, pair + 1, pair + 16, pair + 17);
      for (const int thread : {i, i + 16}) {
        machine.add_core(thread, node / 2, fmt::format("{},{}", i, i + 16), sharing);
      }
    }
  }
}

}  // namespace ddprun
