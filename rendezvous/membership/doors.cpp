#include "rendezvous/membership/doors.hpp"

#include <algorithm>

namespace ddprun {
namespace {

/// The next one of `places` in turn that `is_of_use`; nothing if none is.
template <class IsOfUse>
std::optional<std::string> in_turn(const std::vector<std::string>& places,
                                   std::size_t& turn,
                                   const IsOfUse& is_of_use) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string& place = places[turn++ % places.size()];
    if (is_of_use(place)) return place;
  }
  return std::nullopt;
}

}  // namespace

std::string Doors::next(const std::optional<Leader>& followed, const Voters& voters) {
  const int attempt = attempts_++;
  const std::string leader = followed ? followed->address : std::string();
  const bool at_leader = followed && (attempt < 2 || attempt % 2 == 0);
  if (at_leader) return leader;
  std::vector<std::string> of_voters;
  for (const Voter& voter : voters.all) of_voters.push_back(voter.address);
  const auto is_other = [&](const std::string& place) { return place != own_ && place != leader; };
  const auto is_new = [&](const std::string& place) {
    return is_other(place) && std::ranges::find(of_voters, place) == of_voters.end();
  };
  constexpr int kinds = 3;
  for (int i = 0; i < kinds; ++i) {
    const std::size_t kind = kinds_++ % kinds;
    if (kind == 0) {
      if (const auto place = in_turn(of_voters, voters_tried_, is_other)) return *place;
    } else if (kind == 1) {
      if (is_new(endpoint_)) return endpoint_;
    } else {
      if (const auto place = in_turn(hosts_, hosts_tried_, is_new)) return *place;
    }
  }
  return followed ? leader : endpoint_;
}

}  // namespace ddprun
