#include "tests/sim/acceptances.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddprun::sim {

bool are_most(const Voters& voters, const std::set<AgentId>& agents) {
  std::size_t count = 0;
  bool with_head = false;
  for (const Voter& voter : voters.all) {
    if (!agents.contains(voter.agent)) continue;
    ++count;
    with_head = with_head || voter.agent == voters.head;
  }
  const std::size_t others = voters.all.size() - count;
  return count > others || (count == others && with_head);
}

std::string Acceptances::decides(AgentId leader, const Knowledge& known) const {
  std::set<AgentId> agents{leader};
  if (const auto said = said_.find(known.id()); said != said_.end())
    agents.merge(std::set(said->second));
  const Voters& voters = known.record.voters;
  const auto accepts = [&](const Voter& voter) { return agents.contains(voter.agent); };
  const bool own =
      voters.claim ? std::ranges::all_of(voters.all, accepts) : are_most(voters, agents);
  if (!own) {
    return fmt::format("S15: generation {} is decided without its own voters",
                       known.record.number.value);
  }
  if (voters.claim || known.before.all.empty() || are_most(known.before, agents)) return {};
  return fmt::format("S15: generation {} is decided without the voters before",
                     known.record.number.value);
}

}  // namespace ddprun::sim
