#include "rendezvous/membership/doors.hpp"

namespace ddprun {

std::string Doors::next(const std::optional<Leader>& followed, const Voters& voters) {
  const int attempt = attempts_++;
  const bool at_leader = followed && (attempt < 2 || attempt % 2 == 0);
  if (at_leader || given_.empty()) return followed ? followed->address : std::string();
  const std::size_t round = others_ / 3;
  const std::size_t kind = others_++ % 3;
  if (kind == 0 && !voters.all.empty()) return voters.all[round % voters.all.size()].address;
  if (kind == 1 && given_.size() > 1) return given_[1 + round % (given_.size() - 1)];
  return given_.front();
}

}  // namespace ddprun
