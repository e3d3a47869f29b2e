// Who may connect to a store, whose protocol has no password.
//
// To the store of a generation: addresses of the generation's nodes, of this host, and of
// --store-allow. To a store without a job: networks that the user has named, and processes of his
// on this machine.
//
// Bounds
//   `named_max` peers are named when they are refused, each once.
#pragma once

#include "rendezvous/ip_network.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ddprun {

class Admission {
 public:
  static constexpr std::size_t named_max = 64;

  /// Why the process at `peer` that has connected to `local` is refused; empty: it is not.
  using Objection = std::function<std::string(const IpEndpoint& local, const IpEndpoint& peer)>;

  /// Admits the host itself, by its loopback addresses; `addresses`, those of the host and of the
  /// generation's nodes; and `networks`, those that the user named.
  Admission(const std::vector<IpAddress>& addresses, std::vector<IpNetwork> networks);

  /// Admits `networks`, and whoever there is no objection to.
  [[nodiscard]] static Admission without_job(std::vector<IpNetwork> networks, Objection objection);

  /// Why `peer`, which has connected to `local`, is refused; empty: it is admitted.
  [[nodiscard]] std::string objection(const IpEndpoint& local, const IpEndpoint& peer) const;

  /// The message about a peer that is not admitted; nothing if enough were named.
  [[nodiscard]] std::optional<std::string> refuse(const IpAddress& peer, const std::string& why);

 private:
  [[nodiscard]] std::string advice(const IpAddress& peer) const;

  std::set<IpAddress> addresses_;
  std::vector<IpNetwork> networks_;
  Objection objection_;  // null: the store is a generation's
  std::set<IpAddress> named_;
};

}  // namespace ddprun
