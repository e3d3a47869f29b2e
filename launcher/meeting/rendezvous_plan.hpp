// Whether this node coordinates a job of many nodes, and which of its addresses others use. Pure.
#pragma once

#include "launcher/meeting/interfaces.hpp"
#include "launcher/options/rendezvous_options.hpp"
#include "rendezvous/generations/generation.hpp"
#include "rendezvous/ip_network.hpp"
#include "rendezvous/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {

/// What this node knows of the network.
struct NodeNetwork {
  std::string host;  ///< Its own name.
  std::vector<Interface> interfaces;
  std::vector<std::string> endpoint_addresses;  ///< Behind --rdzv-endpoint.
  std::string towards_endpoint;  ///< This node's address on the way there; empty: there is no way.
  std::uint16_t own_door = 0;    ///< The port of the first other door that is here; 0: none is.
  std::vector<std::string> advertised_addresses;  ///< Behind advertised_name.
};

/// What this node is to advertise by --advertise or --hostname-suffix; empty: neither is given.
[[nodiscard]] std::string advertised_name(const RendezvousOptions& options,
                                          const std::string& host);

struct RendezvousPlan {
  bool is_head = false;         ///< The coordinator is to run here.
  bool is_at_endpoint = false;  ///< --rdzv-endpoint is an address of this node.
  /// The address to listen on: `own_address`, or all addresses if that one is not of this node or,
  /// at the head, unless it is the only one of the endpoint's that this node has. Where all agents
  /// are here, a loopback address, unless another one was asked for.
  std::string listen_address;
  /// The endpoint's, or that of another door that leads here, by which this node may be found
  /// later; unless that is the head's on this very machine: then 0, any that is free.
  std::uint16_t listen_port = 0;
  /// By which others reach this node: what was asked for; else, at the head, the endpoint's, as a
  /// name if that leads to both an IPv4 and an IPv6 address of it; else the one from which this
  /// node reaches the endpoint.
  std::string own_address;
  std::string interface;        ///< That has it, or the first address of that name; empty: none.
  bool is_on_one_host = false;  ///< The endpoint is an address of every node: all agents are here.
  friend bool operator==(const RendezvousPlan&, const RendezvousPlan&) = default;
};

/// The head is whoever was told so (--node-rank 0, is_host); else the node that has one of the
/// endpoint's addresses, which names alone never tell. 127.0.1.1 counts as one: it is what Debian's
/// installer gives a host's own name. 127.0.0.1 does not, since every node has it: an error.
[[nodiscard]] Result<RendezvousPlan> plan_rendezvous(const RendezvousOptions& options,
                                                     const NodeNetwork& network);

/// Of a node alone: the address of its workers' store, as it was asked for, else 127.0.0.1. An
/// error if that is none of this node's.
[[nodiscard]] Result<RendezvousPlan> plan_alone(const RendezvousOptions& options,
                                                const NodeNetwork& network);

/// Where to listen on all interfaces: by both families, if this machine has IPv6.
[[nodiscard]] std::string every_address(const std::vector<Interface>& interfaces);

/// Where a store for workers of all nodes listens: on `address` if that is one of `interfaces`,
/// else, since it may be a name, or by --advertise another machine's, on all.
[[nodiscard]] std::string store_address(const std::string& address,
                                        const std::vector<Interface>& interfaces);

/// From which a node's workers may come to another. The first one is where its agent listens: the
/// plan's own address or, if that is a name, one of the plan's interface. Loopback and link-local
/// ones are left out, and what an offer has no place for.
[[nodiscard]] std::vector<IpAddress> addresses_for_others(const RendezvousPlan& plan,
                                                          const std::vector<Interface>& interfaces);

/// An address by which others may reach this node, neither loopback nor link-local: IPv4 first.
/// Empty if there is none.
[[nodiscard]] std::string first_address(const std::vector<Interface>& interfaces);

/// The name of the interface that has `address`, or empty.
[[nodiscard]] std::string interface_of(const std::string& address,
                                       const std::vector<Interface>& interfaces);

}  // namespace ddprun
