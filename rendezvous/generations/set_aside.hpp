// Nodes that the job excludes while enough others are left: nodes whose workers have repeatedly
// been the first to fail, and nodes where processes survived SIGKILL. They stay spares of last
// resort.
//
// Progress clears the failures of all its members.
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
  static constexpr int failures_max = 3;  ///< With this many failures a node is set aside.
  static constexpr std::size_t remembered_max = 1'000;

  SetAside() = default;

  /// As the coordinator of `last` has left it.
  explicit SetAside(const Generation& last);

  /// The first failure of a generation was there.
  void failed_first(NodeId node);
  /// SIGKILL did not end all processes on this node.
  void outlived_kill(NodeId node);
  void progressed(const Generation& members);

  [[nodiscard]] bool contains(NodeId node) const;
  [[nodiscard]] std::size_t count() const;

  /// "n2 is set aside: ..." for those of `spares` that were not reported yet; empty if there are
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
