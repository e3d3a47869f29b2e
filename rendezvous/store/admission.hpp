// Who may connect to a store, whose protocol has no password.
//
// To the store of a generation: the generation's nodes, this host, and networks of --store-allow;
// of this host, processes of the job's user. To a store without a job: networks that the user has
// named, and his processes on this machine.
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

  /// Admits `networks`, those that the user named. And, unless there is an objection to them, the
  /// host itself, by its loopback addresses; and `addresses`, those of the host and of the
  /// generation's nodes. Null: there is none.
  Admission(const std::vector<IpAddress>& addresses,
            std::vector<IpNetwork> networks,
            Objection objection = nullptr);

  /// Admits `networks`, and whoever there is no objection to.
  [[nodiscard]] static Admission without_job(std::vector<IpNetwork> networks, Objection objection);

  /// Why `peer`, which has connected to `local`, is refused; empty: it is admitted.
  [[nodiscard]] std::string objection(const IpEndpoint& local, const IpEndpoint& peer) const;

  /// The message about `peer`, which has connected to `local` and is not admitted; nothing if
  /// enough were named.
  [[nodiscard]] std::optional<std::string> refuse(const IpEndpoint& local,
                                                  const IpEndpoint& peer,
                                                  const std::string& why);

 private:
  [[nodiscard]] std::string advice(const IpAddress& local, const IpAddress& peer) const;

  std::set<IpAddress> addresses_;
  std::vector<IpNetwork> networks_;
  Objection objection_;
  bool is_without_job_ = false;
  std::set<IpAddress> named_;
};

}  // namespace ddprun
