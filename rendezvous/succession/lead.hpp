// How long a coordinator leads.
//
// Its lead is a lease, given by the voters: each answer promises that for a lease from then on this
// voter elects no other. The lead runs from the sending of the answered message, which was earlier.
// So while a majority's promises hold, no other process can be elected, and when they may have
// ended the lead is over.
//
// A new record brings new voters, which have promised nothing yet. They hear of it after it was
// sent, and wait for a lease from then on. So at the change of voters the lead goes on for a lease,
// or for as long as the voters before have granted it if that is less.
//
// Invariants
//   H1  Each majority that could elect another has a member whose promise lasts beyond the lead.
//   H2  No lease that was given under the lead outlives it: its end never comes forward to less
//       than a lease from now.
#pragma once

#include "rendezvous/generations/voters.hpp"
#include "rendezvous/lease.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace ddprun {

/// The coordinator's lead has another end now, or it leads in another epoch.
struct LeadChanged {
  Instant until;
  Epoch epoch;
  friend bool operator==(const LeadChanged&, const LeadChanged&) = default;
};

class Lead {
 public:
  static constexpr Instant forever{std::int64_t{1} << 60};

  Lead() = default;
  /// Nobody but `self` has promised anything yet. No electors: nobody can elect another.
  Lead(AgentId self, LeaseTimes times, std::vector<Voters> electors);

  /// `voter` has answered what was sent then.
  void heard(AgentId voter, Instant sent);

  [[nodiscard]] bool heard_after(Instant sent, AgentId voter) const;

  /// Who may elect another from now on: a majority of any of them. New ones hear of this later than
  /// now, and elect nobody for a lease after that.
  void change_electors(Instant now, std::vector<Voters> electors);
  [[nodiscard]] const std::vector<Voters>& electors() const { return electors_; }

  /// The lead's end: `forever` where nobody can be elected without this process's vote.
  [[nodiscard]] Instant until() const { return until_; }

  friend bool operator==(const Lead&, const Lead&) = default;

 private:
  [[nodiscard]] Instant end() const;

  AgentId self_ = 0;
  LeaseTimes times_;
  std::map<AgentId, Instant> heard_;  // of others only who may elect, or has answered since then
  std::vector<Voters> electors_;
  Instant granted_;  // to it before the electors changed
  Instant until_ = forever;
};

}  // namespace ddprun
