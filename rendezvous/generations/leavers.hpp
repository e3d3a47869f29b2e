// The nodes that leave a job which goes on without them: who has asked, and who has stopped. Pure.
#pragma once

#include "rendezvous/units.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
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

  /// Each node that has stopped, or `only` that one, and the signal that asked for it; they are
  /// forgotten.
  [[nodiscard]] std::vector<std::pair<NodeId, int>> take_stopped(std::optional<NodeId> only) {
    std::vector<std::pair<NodeId, int>> stopped;
    std::erase_if(all_, [&](const auto& each) {
      const auto& [node, leaver] = each;
      const bool is_taken = leaver.has_stopped && (!only || node == *only);
      if (is_taken) stopped.emplace_back(node, leaver.signal);
      return is_taken;
    });
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
