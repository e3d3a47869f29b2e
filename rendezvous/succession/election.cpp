#include "rendezvous/succession/election.hpp"

#include <algorithm>
#include <set>

namespace ddprun {

Election::Election(AgentId self, Epoch epoch, Instant now, LeaseTimes times)
    : self_(self),
      epoch_(epoch),
      times_(times),
      ask_at_(now),
      ends_at_(now + times.lease / 2),
      last_vote_(now),
      votes_{{self, now}} {}

void Election::asked(Instant now) {
  ask_at_ = now + times_.lease / 12;
}

void Election::raise(Instant now, Epoch epoch) {
  epoch_ = epoch;
  votes_ = {{self_, now}};
}

void Election::count(Instant now, const Vote& vote) {
  if (vote.epoch != epoch_) return;
  last_vote_ = now;
  const auto [entry, is_new] = votes_.emplace(vote.voter, vote.sent);
  entry->second = std::max(entry->second, vote.sent);
}

bool Election::won(const std::vector<Voters>& electors) const {
  std::set<AgentId> agents;
  for (const auto& [agent, sent] : votes_) agents.insert(agent);
  return std::ranges::all_of(electors,
                             [&](const Voters& voters) { return voters.is_majority(agents); });
}

}  // namespace ddprun
