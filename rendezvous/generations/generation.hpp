// The record of one generation: written once, by the coordinator, and never changed. Environment,
// logs, snapshots and messages of a generation carry its number.
#pragma once

#include "rendezvous/generations/founding.hpp"
#include "rendezvous/generations/voters.hpp"
#include "rendezvous/ip_network.hpp"
#include "rendezvous/units.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// Nodes of a job, spares included, and so members of a record; more are a typing error.
constexpr int nodes_limit = 20'000;

/// The position of a job's newest snapshot, only for comparison: a later one is greater.
struct SnapshotPosition {
  std::int64_t generation = 0;
  std::int64_t step = 0;
  std::int64_t changed_ns = 0;  ///< By the clock of its filesystem; all 0: there is none.
  auto operator<=>(const SnapshotPosition&) const = default;
};

/// A node's offer to take part in the next generation.
struct Offer {
  static constexpr std::size_t addresses_max = 16;

  NodeId node;
  std::string host;     ///< The node's name.
  std::string address;  ///< Where its workers and its store can be reached.
  /// Of a store that listens already, empty and for this generation alone; 0: there is none.
  std::uint16_t store_port = 0;
  int worker_count = 1;
  std::string store_error;           ///< Why there is none.
  AgentId agent = 0;                 ///< The process that offers it,
  std::string contact;               ///< and where that listens.
  std::vector<IpAddress> addresses;  ///< From which its workers may come, the likeliest first.
  bool witness = false;              ///< It votes, and has no workers; the roster says so.
  friend bool operator==(const Offer&, const Offer&) = default;
};

/// The address in a contact, "HOST:PORT": two agents with one are on one machine, and one of them
/// may be dead.
[[nodiscard]] std::string_view machine_of(std::string_view contact);
/// The port in it; 0: there is none.
[[nodiscard]] std::uint16_t port_of(std::string_view contact);

/// The failures that count for a node.
struct Blame {
  NodeId node;
  int failures_count = 0;      ///< Generations whose first failure was there.
  bool outlived_kill = false;  ///< Processes there survived SIGKILL.
  friend bool operator==(const Blame&, const Blame&) = default;
};

struct Member {
  Offer offer;
  Rank first_rank;
  friend bool operator==(const Member&, const Member&) = default;
};

/// A member, for the one that has the store.
struct StorePeer {
  std::uint16_t agent_port = 0;      ///< Where its agent listens, at the first address.
  std::vector<IpAddress> addresses;  ///< From which its workers may come.
  friend bool operator==(const StorePeer&, const StorePeer&) = default;
};

/// What a member needs to know of a generation.
struct Part {
  static constexpr std::size_t peer_addresses_max = 50'000;  ///< Of all members together.

  GenerationNumber number;
  int group_rank = 0;        ///< The node's index among the members.
  int group_world_size = 0;  ///< Members.
  Rank first_rank;
  int worker_count = 0;  ///< On the node.
  int world_size = 0;
  std::string master_address;
  std::uint16_t master_port = 0;
  int restart_count = 0;  ///< Generations of this job before this one.
  std::string cause;      ///< Why it was formed, for people.
  /// Who may connect to the store, all members; empty except for the member that has it.
  std::vector<StorePeer> store_peers;
  friend bool operator==(const Part&, const Part&) = default;
};

struct Generation {
  GenerationNumber number;
  /// In the order of nodes and of ranks, which begin at 0 and leave none out; the first one's store
  /// is MASTER_ADDR:MASTER_PORT.
  std::vector<Member> members;
  int restart_count = 0;    ///< Generations of this job before this one.
  std::string cause;        ///< Why it was formed, for people.
  Founding founding;        ///< Of the job.
  Epoch epoch;              ///< Of the coordinator that formed it.
  int failures_count = 0;   ///< Worker failures before it that count against the restart budget.
  Voters voters;            ///< They elect the next coordinator when that one is lost.
  int restarts_in_row = 0;  ///< Before it, after failures of workers, without progress.
  std::optional<SnapshotPosition> snapshot;  ///< The newest one that any node has seen.
  std::vector<Blame> blames;                 ///< Of nodes, members or not.
  friend bool operator==(const Generation&, const Generation&) = default;

  [[nodiscard]] int world_size() const {
    if (members.empty()) return 0;
    return members.back().first_rank.value + members.back().offer.worker_count;
  }

  /// One for each member, in their order; where they have too many addresses, with those that they
  /// named first.
  [[nodiscard]] std::vector<StorePeer> store_peers() const;

  /// One for each member, in their order.
  [[nodiscard]] std::vector<Part> parts() const;

  /// Of the process that formed it.
  [[nodiscard]] std::string head_host() const {
    const Voter* head = voters.find(voters.head);
    return head != nullptr ? head->host : std::string();
  }

  /// The name that two members have at different addresses; empty if there is none.
  [[nodiscard]] std::string repeated_host() const;

  /// The member on `node`, or null.
  [[nodiscard]] const Member* member_on(NodeId node) const;

  [[nodiscard]] bool has_voter_on(NodeId node) const;

  /// Whether it has a member or a voter there: without enough voters it would never be decided.
  [[nodiscard]] bool needs(NodeId node) const {
    return member_on(node) != nullptr || has_voter_on(node);
  }

  /// The member that runs `rank`, or null.
  [[nodiscard]] const Member* member_with(Rank rank) const;
};

/// This generation is to start, if the voters agree; to be answered by Decided.
struct Propose {
  Generation record;
  friend bool operator==(const Propose&, const Propose&) = default;
};
/// What a coordinator that resigns says of the nodes to its successor.
struct Legacy {
  std::vector<NodeId> gone = {};  ///< Members that have ended: it waits for none of these.
  int ready = 0;                  ///< Nodes that could take part, which come to it next.
  friend bool operator==(const Legacy&, const Legacy&) = default;
};
/// No worker lives in the job. Another process is to coordinate it and to form the next generation;
/// the answer is this coordinator's end, or LeadKept.
struct HandOver {
  std::set<NodeId> leavers;  ///< It should be on none of these.
  Legacy legacy = {};
  friend bool operator==(const HandOver&, const HandOver&) = default;
};
/// No other process could coordinate.
struct LeadKept {
  friend bool operator==(const LeadKept&, const LeadKept&) = default;
};
/// The voters have accepted the generation of this number: it may start.
struct Decided {
  GenerationNumber number;
  friend bool operator==(const Decided&, const Decided&) = default;
};

}  // namespace ddprun
