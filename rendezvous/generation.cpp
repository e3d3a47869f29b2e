#include "rendezvous/generation.hpp"

namespace ddprun {

std::vector<Part> Generation::parts() const {
  std::vector<Part> parts;
  parts.reserve(members.size());
  const int workers = world_size();
  for (const Member& member : members) {
    Part part;
    part.number = number;
    part.group_rank = static_cast<int>(parts.size());
    part.group_world_size = static_cast<int>(members.size());
    part.first_rank = member.first_rank;
    part.worker_count = member.offer.worker_count;
    part.world_size = workers;
    part.master_address = members.front().offer.address;
    part.master_port = members.front().offer.store_port;
    part.restart_count = restart_count;
    part.cause = cause;
    parts.push_back(part);
  }
  return parts;
}

}  // namespace ddprun
