// Whether all voters of a job's first record see the folder that its founder sees: only then may
// they claim. A voter that does not answer in time counts as not seeing it.
#pragma once

#include "rendezvous/generations/voters.hpp"
#include "rendezvous/units.hpp"

#include <map>
#include <string>
#include <vector>

namespace ddprun {

class Survey {
 public:
  /// The founder, `self`, sees it.
  Survey(std::vector<Voter> voters, AgentId self, Instant ends_at);

  void count(AgentId voter, bool sees) { answers_[voter] = sees; }

  /// Whom to ask, again perhaps.
  [[nodiscard]] std::vector<Voter> unanswered() const;

  [[nodiscard]] bool is_over(Instant now) const;

  /// Why they may not claim, for people, once it is over; empty: they may.
  [[nodiscard]] std::string why_not() const;

  friend bool operator==(const Survey&, const Survey&) = default;

 private:
  /// The first one that has said that it does not see it, or null.
  [[nodiscard]] const Voter* blind() const;

  std::vector<Voter> voters_;
  std::map<AgentId, bool> answers_;
  Instant ends_at_;
};

}  // namespace ddprun
