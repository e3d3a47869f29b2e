#include "rendezvous/generations/founding.hpp"

#include <algorithm>

namespace ddprun {

int nodes_to_found(int nodes_min, int nodes_all, int witnesses) {
  const int voters = std::min(nodes_min + witnesses, static_cast<int>(Voters::count_max));
  const int half = (voters + 1) / 2;
  const int harmless = std::max(0, half - 1 - witnesses);  // this many nodes cannot lead
  return std::max(nodes_min, nodes_all - harmless);
}

}  // namespace ddprun
