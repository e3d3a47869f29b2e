// Whether this node coordinates a job of many nodes, and which of its addresses others use. Pure.
#pragma once

#include "launcher/interfaces.hpp"
#include "launcher/rendezvous_options.hpp"
#include "rendezvous/result.hpp"

#include <string>
#include <vector>

namespace ddprun {

/// What this node knows of the network.
struct NodeNetwork {
  std::string host;  ///< Its own name.
  std::vector<Interface> interfaces;
  std::vector<std::string> endpoint_addresses;  ///< Behind --rdzv-endpoint.
};

struct RendezvousPlan {
  bool is_head = false;  ///< The coordinator is to run here.
  /// Where it listens then. Every interface where the endpoint is none of this node's addresses.
  std::string listen_address;
  /// By which others reach this node, as it was asked for; empty: it was not.
  std::string chosen_address;
  /// The same for the head, where nothing was asked for; other nodes have the one by which they
  /// reach the coordinator.
  std::string head_address;
  friend bool operator==(const RendezvousPlan&, const RendezvousPlan&) = default;
};

/// The head is whoever was told so (--node-rank 0, is_host); else the node that has one of the
/// endpoint's addresses, which names alone never tell. 127.0.1.1 counts as one: it is what Debian's
/// installer gives a host's own name. 127.0.0.1 does not, since every node has it: an error.
[[nodiscard]] Result<RendezvousPlan> plan_rendezvous(const RendezvousOptions& options,
                                                     const NodeNetwork& network);

/// Where a store for workers of all nodes listens: on `address` if that is one of `interfaces`,
/// else, since an --advertise'd address may be another machine's, on all.
[[nodiscard]] std::string store_address(const std::string& address,
                                        const std::vector<Interface>& interfaces);

/// The name of the interface that has `address`, or empty.
[[nodiscard]] std::string interface_of(const std::string& address,
                                       const std::vector<Interface>& interfaces);

}  // namespace ddprun
