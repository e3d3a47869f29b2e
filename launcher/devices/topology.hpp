// How a machine's cores lie together, as Linux tells in /sys. Pure.
#pragma once

#include "launcher/devices/core_set.hpp"

#include <map>

namespace ddprun {

/// What one logical core shares with others.
struct CorePlace {
  int package = -1;   ///< Its socket; -1: not told.
  int physical = -1;  ///< The lowest number among the hyperthreads of its physical core.
  int core_complex =
      -1;  ///< The lowest number among those that share its last cache; -1: not told.
  friend bool operator==(const CorePlace&, const CorePlace&) = default;
};

struct Topology {
  std::map<int, CoreSet> nodes;    ///< The cores of each NUMA node, by its number.
  std::map<int, CorePlace> cores;  ///< Of those that a process may use, by number.
};

}  // namespace ddprun
