// Nodes that the job does without while enough others are left: those whose workers have failed
// first again and again, and those where processes have outlived SIGKILL. They stay spares of last
// resort.
//
// A node that was a member when progress was made begins anew.
// Bounds
//   `remembered_max` nodes: more that fail are not counted.
#pragma once

#include "rendezvous/generations/generation.hpp"
#include "rendezvous/units.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ddprun {

class SetAside {
 public:
  static constexpr int failures_max = 3;  ///< With so many a node is set aside.
  static constexpr std::size_t remembered_max = 1'000;

  SetAside() = default;

  /// As the coordinator of `last` has left it.
  explicit SetAside(const Generation& last);

  /// The first failure of a generation was there.
  void failed_first(NodeId node);
  /// SIGKILL did not end all processes there; whoever says so says it of this node.
  void outlived_kill(NodeId node);
  void progressed(const Generation& members);

  [[nodiscard]] bool contains(NodeId node) const;
  [[nodiscard]] std::size_t count() const;

  /// "n2 is set aside: ..." of those among `spares` for which that was not said; empty if there are
  /// none.
  [[nodiscard]] std::string say(const std::map<NodeId, Offer>& spares);

  [[nodiscard]] std::vector<Blame> record() const;

  friend bool operator==(const SetAside&, const SetAside&) = default;

 private:
  [[nodiscard]] Blame* blame_of(NodeId node);

  std::map<NodeId, Blame> blames_;
  std::set<NodeId> said_;
};

}  // namespace ddprun
