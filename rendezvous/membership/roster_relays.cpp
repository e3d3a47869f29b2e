// Whose heartbeats go through whom.
#include "rendezvous/membership/roster.hpp"

#include <iterator>
#include <string>

namespace ddprun {

/// The first of each group is the relay of the others, by their places: neighbours in the order of
/// nodes are often neighbours in the network. A lost one is followed by the next.
void Roster::name_relays(Actions& out) {
  regroups_ = false;
  names_relays_ = names_relays_ || peers_.size() > options_.relays.above;
  if (!names_relays_) return;
  const int size = group_size();
  int group = -1;
  std::string relay;
  for (const auto& [node, agent] : places_) {
    const auto found = peers_.find(agent);
    if (found == peers_.end()) continue;
    Peer& peer = found->second;
    const bool is_ready = !peer.lost && !peer.witness && peer.leased && peer.session != SessionId{};
    if (!is_ready || peer.contact.empty() || agent == options_.leader.agent) continue;
    const bool leads_group = group != node.value / size;
    if (leads_group) {
      group = node.value / size;
      relay = peer.contact;
    }
    const std::string& through = leads_group ? std::string() : relay;
    if (peer.relay == through) continue;
    peer.relay = through;
    out.emplace_back(SendDown{peer.session, UseRelay{through}});
  }
}

int Roster::group_size() const {
  const auto behind = places_.lower_bound(first_witness);
  const int places = behind == places_.begin() ? 0 : std::prev(behind)->first.value + 1;
  int size = options_.relays.group_min;
  while (places / size > options_.relays.relays_max) size *= 2;
  return size;
}

}  // namespace ddprun
