#include "launcher/rank_map.hpp"

namespace ddprun {

std::vector<WorkerPlace> places_on(const Generation& generation, NodeId node) {
  std::vector<WorkerPlace> places;
  const Member* member = generation.member_on(node);
  if (member == nullptr) return places;
  for (int local_rank = 0; local_rank < member->offer.worker_count; ++local_rank) {
    WorkerPlace place;
    place.rank = Rank{member->first_rank.value + local_rank};
    place.local_rank = LocalRank{local_rank};
    place.world_size = generation.world_size();
    place.local_world_size = member->offer.worker_count;
    place.group_rank = static_cast<int>(member - generation.members.data());
    place.group_world_size = static_cast<int>(generation.members.size());
    places.push_back(place);
  }
  return places;
}

}  // namespace ddprun
