// The ranks of a node's workers, from its part of a generation. Pure.
#pragma once

#include "rendezvous/generations/generation.hpp"

#include <vector>

namespace ddprun {

/// One worker among all, and among those of its node.
struct WorkerPlace {
  Rank rank;
  LocalRank local_rank;
  int world_size = 0;
  int local_world_size = 0;
  int group_rank = 0;        ///< The node's index among the generation's members.
  int group_world_size = 0;  ///< Members.
  friend bool operator==(const WorkerPlace&, const WorkerPlace&) = default;
};

/// In order of local ranks.
[[nodiscard]] std::vector<WorkerPlace> places_in(const Part& part);

}  // namespace ddprun
