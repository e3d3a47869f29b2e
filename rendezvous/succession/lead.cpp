#include "rendezvous/succession/lead.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace ddprun {

Lead::Lead(AgentId self, LeaseTimes times, std::vector<Voters> electors)
    : self_(self),
      times_(times),
      heard_{{self, forever}},
      electors_(std::move(electors)),
      until_(end()) {}

void Lead::heard(AgentId voter, Instant sent) {
  const auto [entry, is_new] = heard_.emplace(voter, sent);
  entry->second = std::max(entry->second, sent);
  until_ = end();
}

bool Lead::heard_after(Instant sent, AgentId voter) const {
  const auto found = heard_.find(voter);
  return found != heard_.end() && found->second > sent;
}

void Lead::change_electors(Instant now, std::vector<Voters> electors) {
  electors_ = std::move(electors);
  std::erase_if(heard_, [&](const auto& entry) {
    const auto has = [&](const Voters& voters) { return voters.contains(entry.first); };
    return entry.first != self_ && std::ranges::none_of(electors_, has);
  });
  granted_ = std::min(until_, now + times_.lease);  // H2
  until_ = end();
}

Instant Lead::end() const {
  Instant earliest = forever;
  for (const Voters& voters : electors_) {
    const std::optional<Instant> since = voters.heard_by_majority(heard_);
    if (!since) return granted_;
    if (*since < forever) earliest = std::min(earliest, *since + times_.lease);
  }
  return std::max(earliest, granted_);
}

}  // namespace ddprun
