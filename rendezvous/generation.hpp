// The record of one generation: written once, by the coordinator, and never changed. Whatever
// belongs to a generation (environment, logs, snapshots, messages) carries its number.
#pragma once

#include "rendezvous/units.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {

/// A node's offer to take part in the next generation.
struct Offer {
  NodeId node;
  std::string host;     ///< What people call the node.
  std::string address;  ///< Where its workers and its store can be reached.
  /// Of a store that listens already, empty and for this generation alone; 0: there is none.
  std::uint16_t store_port = 0;
  int worker_count = 0;
  std::string store_error;  ///< Why there is none.
  friend bool operator==(const Offer&, const Offer&) = default;
};

struct Member {
  Offer offer;
  Rank first_rank;
  friend bool operator==(const Member&, const Member&) = default;
};

/// What a member needs to know of a generation.
struct Part {
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
  friend bool operator==(const Part&, const Part&) = default;
};

struct Generation {
  GenerationNumber number;
  std::vector<Member>
      members;            ///< In rank order; the first one's store is MASTER_ADDR:MASTER_PORT.
  int restart_count = 0;  ///< Generations of this job before this one.
  std::string cause;      ///< Why it was formed, for people.
  friend bool operator==(const Generation&, const Generation&) = default;

  [[nodiscard]] int world_size() const {
    int count = 0;
    for (const Member& member : members) count += member.offer.worker_count;
    return count;
  }

  /// One for each member, in their order.
  [[nodiscard]] std::vector<Part> parts() const;

  /// The member on `node`, or null.
  [[nodiscard]] const Member* member_on(NodeId node) const {
    for (const Member& member : members) {
      if (member.offer.node == node) return &member;
    }
    return nullptr;
  }
};

}  // namespace ddprun
