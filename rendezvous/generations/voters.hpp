// The processes that elect the next coordinator, and when they are a majority.
#pragma once

#include "rendezvous/units.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ddprun {

struct Voter {
  AgentId agent = 0;
  NodeId node;
  std::string host;
  std::string address;  ///< Where it listens.
  friend bool operator==(const Voter&, const Voter&) = default;
};

/// The voters of one generation, in the order in which they stand for election.
struct Voters {
  static constexpr std::size_t count_max = 7;

  std::vector<Voter> all;
  AgentId head = 0;    ///< It formed the generation. Of two halves, the one with it is a majority.
  bool claim = false;  ///< They claim: a leader needs answers of all of them.
  friend bool operator==(const Voters&, const Voters&) = default;

  [[nodiscard]] bool contains(AgentId agent) const { return find(agent) != nullptr; }
  [[nodiscard]] const Voter* find(AgentId agent) const;

  /// Whether those of them that are in `agents` decide for all: a majority, or all if they claim.
  /// False without voters.
  [[nodiscard]] bool is_majority(const std::set<AgentId>& agents) const;

  /// The latest time such that a majority, as above, was heard then or later; nothing if none was.
  [[nodiscard]] std::optional<Instant> heard_by_majority(
      const std::map<AgentId, Instant>& heard) const;

  /// How many others stand before `agent`: the head, if it still lives, stands last.
  [[nodiscard]] int place_of(AgentId agent) const;

  /// Whether the remaining voters can go on when these are lost, or the head.
  [[nodiscard]] bool outlive(const std::set<AgentId>& lost) const;
  [[nodiscard]] bool outlive_head() const { return outlive({head}); }
};

}  // namespace ddprun
