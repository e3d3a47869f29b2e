#include "rendezvous/generations/generation.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <system_error>

namespace ddprun {

std::string_view machine_of(std::string_view contact) {
  return contact.substr(0, contact.rfind(':'));
}

std::uint16_t port_of(std::string_view contact) {
  std::uint16_t port = 0;
  const std::size_t colon = contact.rfind(':');
  if (colon == std::string_view::npos) return 0;
  const std::string_view digits = contact.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return error == std::errc() && end == digits.data() + digits.size() ? port : std::uint16_t{0};
}

std::string Generation::repeated_host() const {
  std::map<std::string_view, std::string_view> address_of;
  for (const Member& member : members) {
    const auto [same, is_new] = address_of.emplace(member.offer.host, member.offer.address);
    const bool repeats = !is_new && same->second != member.offer.address;
    if (repeats && !member.offer.host.empty()) return member.offer.host;
  }
  return {};
}

const Member* Generation::member_on(NodeId node) const {
  const auto node_of = [](const Member& member) { return member.offer.node; };
  const auto found = std::ranges::lower_bound(members, node, {}, node_of);
  return found != members.end() && found->offer.node == node ? &*found : nullptr;
}

bool Generation::has_voter_on(NodeId node) const {
  return std::ranges::find(voters.all, node, &Voter::node) != voters.all.end();
}

const Member* Generation::member_with(Rank rank) const {
  const auto after = std::ranges::upper_bound(members, rank, {}, &Member::first_rank);
  if (after == members.begin()) return nullptr;
  const Member& member = *std::prev(after);
  return rank.value - member.first_rank.value < member.offer.worker_count ? &member : nullptr;
}

std::vector<StorePeer> Generation::store_peers() const {
  std::vector<StorePeer> peers;
  peers.reserve(members.size());
  for (const Member& member : members) peers.push_back({port_of(member.offer.contact), {}});
  std::size_t room = Part::peer_addresses_max;
  for (std::size_t place = 0; place < Offer::addresses_max; ++place) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::vector<IpAddress>& named = members[i].offer.addresses;
      if (place >= named.size()) continue;
      if (room-- == 0) return peers;
      peers[i].addresses.push_back(named[place]);
    }
  }
  return peers;
}

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
  if (!parts.empty()) parts.front().store_peers = store_peers();
  return parts;
}

}  // namespace ddprun
