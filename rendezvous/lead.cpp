#include "rendezvous/lead.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace ddprun {

Lead::Lead(AgentId self, LeaseTimes times) : times_(times), heard_{{self, forever}} {}

void Lead::heard(AgentId voter, Instant sent) {
  const auto [entry, is_new] = heard_.emplace(voter, sent);
  entry->second = std::max(entry->second, sent);
  until_ = end();
}

bool Lead::heard_after(Instant sent, AgentId voter) const {
  const auto found = heard_.find(voter);
  return found != heard_.end() && found->second > sent;
}

void Lead::set_electors(std::vector<Voters> electors) {
  electors_ = std::move(electors);
  until_ = end();
}

Instant Lead::end() const {
  Instant earliest = forever;
  for (const Voters& voters : electors_) {
    const std::optional<Instant> since = voters.heard_by_majority(heard_);
    if (!since) return {};
    if (*since < forever) earliest = std::min(earliest, *since + times_.lease);
  }
  return earliest;
}

}  // namespace ddprun
