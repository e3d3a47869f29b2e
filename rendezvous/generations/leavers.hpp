// The nodes that leave a job which goes on without them: who has asked, and who has stopped. Pure.
#pragma once

#include "rendezvous/units.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace ddprun {

class Leavers {
 public:
  void add(NodeId node, int signal) { all_.try_emplace(node, Leaver{signal}); }
  void remove(NodeId node) { all_.erase(node); }
  [[nodiscard]] bool contains(NodeId node) const { return all_.contains(node); }

  [[nodiscard]] std::set<NodeId> nodes() const {
    std::set<NodeId> nodes;
    for (const auto& [node, leaver] : all_) nodes.insert(node);
    return nodes;
  }

  /// No worker is left there.
  void stopped(NodeId node) { all_.at(node).has_stopped = true; }

  /// Each node that has stopped and the signal that asked for it; they are forgotten.
  [[nodiscard]] std::vector<std::pair<NodeId, int>> take_stopped() {
    std::vector<std::pair<NodeId, int>> stopped;
    for (const auto& [node, leaver] : all_) {
      if (leaver.has_stopped) stopped.emplace_back(node, leaver.signal);
    }
    std::erase_if(all_, [](const auto& each) { return each.second.has_stopped; });
    return stopped;
  }

  friend bool operator==(const Leavers&, const Leavers&) = default;

 private:
  struct Leaver {
    int signal = 0;
    bool has_stopped = false;
    friend bool operator==(const Leaver&, const Leaver&) = default;
  };
  std::map<NodeId, Leaver> all_;
};

}  // namespace ddprun
