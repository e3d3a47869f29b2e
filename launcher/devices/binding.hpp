// Which cores each worker of a node may use. Pure.
//
// A worker belongs to the NUMA node of its GPU. Workers without one, and those whose GPU's node is
// not known or has no core for them, are spread over the cores of the machine in order, and belong
// to the node of the core that they meet.
#pragma once

#include "launcher/devices/topology.hpp"
#include "rendezvous/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {

enum class Binding : std::uint8_t {
  none,
  node,          ///< All cores of the worker's NUMA node.
  socket,        ///< All cores of all NUMA nodes of its socket.
  exclusive,     ///< An even share of the node's physical cores, which no other worker gets.
  core_complex,  ///< The cores of the node that share one last-level cache.
  listed,        ///< What the user wrote.
};

/// What the user asks for.
struct BindOptions {
  Binding binding = Binding::none;
  std::vector<CoreSet> lists;  ///< By local rank, for `listed`.
  std::string text;            ///< "--cpu-bind: 'core' from the command line", for errors.
};

/// The cores of each of the workers whose GPUs are on these NUMA nodes (-1: none, or not known), by
/// local rank. Only such that are in `allowed`. Empty for Binding::none.
[[nodiscard]] Result<std::vector<CoreSet>> bind_workers(const BindOptions& options,
                                                        const Topology& topology,
                                                        const CoreSet& allowed,
                                                        const std::vector<int>& gpu_nodes);

/// How many threads each worker can run at once, by local rank: its cores, shared evenly with the
/// workers that it shares them with; at least 1.
[[nodiscard]] std::vector<int> threads_of(const std::vector<CoreSet>& workers);

}  // namespace ddprun
