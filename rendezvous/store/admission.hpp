// Who may connect to a store, whose protocol has no password: processes of the job's user on the
// generation's nodes, and networks of --store-allow. Of its own host the kernel tells the user of
// each connection; of another node, that node's agent has to be asked.
//
// To a store without a job: networks that the user has named, and his processes on this machine.
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

  /// Admits all of `networks`, which the user has named. Of `own`, the host's addresses, and of
  /// loopback ones it admits whoever `objection` has nothing against; all, if it is null. Of
  /// `others` the store has to ask the node.
  Admission(const std::vector<IpAddress>& own,
            const std::vector<IpAddress>& others,
            std::vector<IpNetwork> networks,
            Objection objection = nullptr);

  /// Admits `networks`, and whoever there is no objection to.
  [[nodiscard]] static Admission without_job(std::vector<IpNetwork> networks, Objection objection);

  /// Why `peer`, which has connected to `local`, is refused; empty: it is admitted, or is another
  /// node's.
  [[nodiscard]] std::string objection(const IpEndpoint& local, const IpEndpoint& peer) const;

  /// Whether only the agent of that node can tell whose a connection from there is.
  [[nodiscard]] bool is_another_nodes(const IpAddress& peer) const;

  /// Whether that address is admitted for the user of a connection, and not for itself.
  [[nodiscard]] bool goes_by_user(const IpAddress& peer) const;

  /// The message about `peer`, which has connected to `local` and is not admitted; nothing if
  /// enough were named.
  [[nodiscard]] std::optional<std::string> refuse(const IpEndpoint& local,
                                                  const IpEndpoint& peer,
                                                  const std::string& why);

 private:
  [[nodiscard]] bool is_allowed(const IpAddress& peer) const;
  [[nodiscard]] bool is_here(const IpAddress& peer) const;
  [[nodiscard]] std::string advice(const IpAddress& local, const IpAddress& peer) const;

  std::set<IpAddress> own_;
  std::set<IpAddress> others_;
  std::vector<IpNetwork> networks_;
  Objection objection_;
  bool is_without_job_ = false;
  std::set<IpAddress> named_;
};

}  // namespace ddprun
