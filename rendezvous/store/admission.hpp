// Which addresses may connect to the store of a generation, whose protocol has no password: those
// of the generation's nodes, of this host, and of --store-allow.
//
// Bounds
//   `named_max` peers are named when they are refused, each once.
#pragma once

#include "rendezvous/ip_network.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ddprun {

class Admission {
 public:
  static constexpr std::size_t named_max = 64;

  /// Admits the host itself, by its loopback addresses; `addresses`, those of the host and of the
  /// generation's nodes; and `networks`, those that the user named.
  Admission(const std::vector<IpAddress>& addresses, std::vector<IpNetwork> networks);

  [[nodiscard]] bool admits(const IpAddress& peer) const;

  /// The message about a peer that is not admitted; nothing if enough were named.
  [[nodiscard]] std::optional<std::string> refuse(const IpAddress& peer);

 private:
  std::set<IpAddress> addresses_;
  std::vector<IpNetwork> networks_;
  std::set<IpAddress> named_;
};

}  // namespace ddprun
