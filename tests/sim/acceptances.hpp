// What voters have said of records, and whether it was enough for what came of it. Majorities are
// counted here anew: what the product takes for one proves nothing.
#pragma once

#include "rendezvous/succession/ballots.hpp"

#include <map>
#include <set>
#include <string>

namespace ddprun::sim {

/// More than half of `voters`, or half of them with the head, are in `agents`.
[[nodiscard]] bool are_most(const Voters& voters, const std::set<AgentId>& agents);

class Acceptances {
 public:
  void said(const Following& following) { said_[following.record].insert(following.voter); }

  /// S15: `leader` takes this record for decided, or claims its place. Returns what that breaks, or
  /// nothing.
  [[nodiscard]] std::string decides(AgentId leader, const Knowledge& known) const;

 private:
  std::map<RecordId, std::set<AgentId>> said_;
};

}  // namespace ddprun::sim
