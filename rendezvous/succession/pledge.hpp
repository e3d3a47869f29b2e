// A voter's promises.
//
// Invariants
//   P1  It votes once in an epoch.
//   P2  For a lease after a vote it votes for no other candidate, unless the candidate gave up.
//   P3  Once it has voted in an epoch, it follows no leader of a lower one, unless the candidate
//       gave up.
#pragma once

#include "rendezvous/succession/ballots.hpp"
#include "rendezvous/units.hpp"

namespace ddprun {

class Pledge {
 public:
  /// The highest one in which it has voted or followed.
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  [[nodiscard]] Instant until() const { return until_; }

  [[nodiscard]] bool allows(Instant now, const VoteRequest& request) const;
  [[nodiscard]] bool allows(const Leader& leader) const;
  /// Whether a promise to somebody else still holds.
  [[nodiscard]] bool binds(Instant now, AgentId other) const;

  void vote(Instant until, Epoch epoch, AgentId candidate);
  void follow(const Leader& leader);
  /// The candidate has given up, this process perhaps: its epoch will not come.
  void release(Epoch epoch, AgentId candidate);
  /// It is dead, and nobody can be elected in its place: P3 ends, P1 and P2 go on.
  void forget_leader() { floor_ = floor_before_vote_ = {}; }
  /// To elect nobody until then.
  void abstain(Instant until);

  friend bool operator==(const Pledge&, const Pledge&) = default;

 private:
  Epoch epoch_;
  Epoch floor_;              // nothing below it is accepted, but from `to_`
  Epoch floor_before_vote_;  // what the floor was before the last vote
  AgentId to_ = 0;
  Instant until_;
};

}  // namespace ddprun
