#include "launcher/workers/rank_map.hpp"

namespace ddprun {

std::vector<WorkerPlace> places_in(const Part& part) {
  std::vector<WorkerPlace> places;
  for (int local_rank = 0; local_rank < part.worker_count; ++local_rank) {
    WorkerPlace place;
    place.rank = Rank{part.first_rank.value + local_rank};
    place.local_rank = LocalRank{local_rank};
    place.world_size = part.world_size;
    place.local_world_size = part.worker_count;
    place.group_rank = part.group_rank;
    place.group_world_size = part.group_world_size;
    places.push_back(place);
  }
  return places;
}

}  // namespace ddprun
