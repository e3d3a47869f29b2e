#include "rendezvous/generations/voters.hpp"

#include <algorithm>

namespace ddprun {

const Voter* Voters::find(AgentId agent) const {
  const auto found = std::ranges::find(all, agent, &Voter::agent);
  return found == all.end() ? nullptr : &*found;
}

bool Voters::is_majority(const std::set<AgentId>& agents) const {
  const auto count =
      std::ranges::count_if(all, [&](const Voter& voter) { return agents.contains(voter.agent); });
  if (claim) return count > 0 && static_cast<std::size_t>(count) == all.size();
  const std::size_t twice = 2 * static_cast<std::size_t>(count);
  if (twice != all.size()) return twice > all.size();
  return contains(head) && agents.contains(head);
}

std::optional<Instant> Voters::heard_by_majority(const std::map<AgentId, Instant>& heard) const {
  std::optional<Instant> latest;
  for (const auto& [agent, since] : heard) {
    if (latest && since <= *latest) continue;
    std::set<AgentId> agents;
    for (const auto& [other, at] : heard) {
      if (at >= since) agents.insert(other);
    }
    if (is_majority(agents)) latest = since;
  }
  return latest;
}

int Voters::place_of(AgentId agent) const {
  int place = 0;
  for (const Voter& voter : all) {
    if (voter.agent == agent && agent != head) break;
    if (voter.agent != head) ++place;
  }
  return place;
}

bool Voters::outlive(const std::set<AgentId>& lost) const {
  std::set<AgentId> others;
  for (const Voter& voter : all) {
    if (!lost.contains(voter.agent)) others.insert(voter.agent);
  }
  return claim ? !others.empty() : is_majority(others);
}

}  // namespace ddprun
