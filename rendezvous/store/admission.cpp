#include "rendezvous/store/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ddprun {

Admission::Admission(const std::vector<IpAddress>& addresses, std::vector<IpNetwork> networks)
    : addresses_(addresses.begin(), addresses.end()), networks_(std::move(networks)) {}

bool Admission::admits(const IpAddress& peer) const {
  return is_loopback(peer) || addresses_.contains(peer) ||
         std::ranges::any_of(networks_,
                             [&](const IpNetwork& network) { return network.contains(peer); });
}

std::optional<std::string> Admission::refuse(const IpAddress& peer) {
  if (named_.size() >= named_max || !named_.insert(peer).second) return std::nullopt;
  return fmt::format(
      "store: refused {}, which is no address of this generation's nodes; to admit it, for example "
      "behind NAT, add --store-allow {} on all nodes{}",
      text_of(peer),
      text_of(peer),
      named_.size() == named_max ? "; further addresses are not reported" : "");
}

}  // namespace ddprun
