// One candidate's attempt in one epoch: the voters that it has asked, and their votes.
#pragma once

#include "rendezvous/generations/voters.hpp"
#include "rendezvous/lease.hpp"
#include "rendezvous/succession/ballots.hpp"
#include "rendezvous/units.hpp"

#include <map>
#include <vector>

namespace ddprun {

class Election {
 public:
  /// The candidate's own vote is there from the start.
  Election(AgentId self, Epoch epoch, Instant now, LeaseTimes times);

  [[nodiscard]] Epoch epoch() const { return epoch_; }

  /// When to ask all of them again: votes may come too late for the first requests.
  [[nodiscard]] Instant ask_at() const { return ask_at_; }
  void asked(Instant now);
  /// Another process has this epoch or higher: retry with a higher one within the remaining time.
  /// Voters that have voted are asked again, and stay bound meanwhile.
  void raise(Instant now, Epoch epoch);
  /// When the attempt has failed.
  [[nodiscard]] Instant ends_at() const { return ends_at_; }

  void count(Instant now, const Vote& vote);
  [[nodiscard]] bool won(const std::vector<Voters>& electors) const;

  /// By voter: when the newest request that it answered was sent. Its promise lasts from then on.
  [[nodiscard]] const std::map<AgentId, Instant>& votes() const { return votes_; }
  [[nodiscard]] Instant last_vote() const { return last_vote_; }

  friend bool operator==(const Election&, const Election&) = default;

 private:
  AgentId self_ = 0;
  Epoch epoch_;
  LeaseTimes times_;
  Instant ask_at_;
  Instant ends_at_;
  Instant last_vote_;
  std::map<AgentId, Instant> votes_;
};

}  // namespace ddprun
