// Reads how the machine's cores lie together.
#pragma once

#include "launcher/devices/topology.hpp"

#include <filesystem>
#include <string>

namespace ddprun {

/// Of the cores in `allowed`, from what Linux shows below `root`. A machine that shows no NUMA
/// nodes has none in the result; a core of which nothing is shown is a physical core of its own.
[[nodiscard]] Topology read_topology(const CoreSet& allowed,
                                     const std::filesystem::path& root = "/");

/// The NUMA node of the PCI device with that address, "0000:1a:00.0"; -1: not told.
[[nodiscard]] int read_numa_node(const std::string& pci_address, const std::filesystem::path& root);

}  // namespace ddprun
