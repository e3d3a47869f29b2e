// The options of a job of many nodes: their number, the rendezvous endpoint, and how long
// nodes wait. Pure.
#pragma once

#include "launcher/text/endpoint.hpp"
#include "launcher/text/settings.hpp"
#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/ip_network.hpp"
#include "rendezvous/lease.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/store/store_codec.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace ddprun {

/// Places in --rdzv-endpoint.
constexpr std::size_t doors_limit = 64;

struct RendezvousOptions {
  GatheringOptions gathering;
  JoinPolicy join_policy = JoinPolicy::snapshot;
  LeaseTimes times;
  std::optional<Endpoint> endpoint;   ///< Of the coordinator; always there with many nodes.
  std::optional<Endpoint> store;      ///< Where the workers of one node alone are to find theirs.
  std::string store_host_from;        ///< "--master-addr: 'n0' from PET_MASTER_ADDR"; or empty.
  std::string store_port_from;        ///< The same of its port.
  std::vector<Endpoint> other_doors;  ///< Where a node that starts asks for the job as well.
  std::optional<NodeId> node_rank;
  std::optional<bool> is_host;  ///< Whether the coordinator runs on this node, where that is said.
  std::string job_id;           ///< Empty: none was given.
  std::string advertise;        ///< This node's address for others; empty: found out.
  std::string interface;        ///< A name or a CIDR that it must be of; empty: any.
  std::string hostname_suffix;
  std::string state_dir;  ///< For marks of jobs; "none": none are kept; empty: the usual one.
  std::vector<IpNetwork> store_allow;                 ///< Who may use the store, besides the nodes.
  std::size_t store_memory = 0;                       ///< Bytes that it may take.
  StoreDialect store_dialect = StoreDialect::legacy;  ///< Of connections without a greeting.
  bool requires_token = false;
  bool is_insecure = false;              ///< Hosts may meet without a token.
  std::vector<std::string> unused_conf;  ///< Keys of --rdzv-conf that ddprun does not know.

  [[nodiscard]] bool has_many_nodes() const { return gathering.nodes_max > 1; }
};

/// A job's id: --rdzv-id, or what `setting` says that stands for it.
[[nodiscard]] Result<std::string> read_job_id(const Setting& setting);

/// Needs all options with their defaults. torchrun's static options (--master-addr, --master-port,
/// --node-rank) and its --rdzv-conf mean the same as ours.
[[nodiscard]] Result<RendezvousOptions> read_rendezvous_options(const Settings& all);

}  // namespace ddprun
