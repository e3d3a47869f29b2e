// For how long a coordinator may say that it leads.
//
// Its lead is a lease, given by the voters: each answer promises that for a lease from then on this
// voter elects nobody else. The lead runs from the sending of what was answered, which was earlier.
// So while a majority's promises hold, nobody else can be elected, and when they may have ended
// nobody relies on them any more.
//
// Invariants
//   H1  Each majority that could elect another has a member whose promise lasts beyond the lead.
#pragma once

#include "rendezvous/lease.hpp"
#include "rendezvous/voters.hpp"

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
  Lead(AgentId self, LeaseTimes times);

  /// `voter` has answered what was sent then.
  void heard(AgentId voter, Instant sent);

  [[nodiscard]] bool heard_after(Instant sent, AgentId voter) const;

  /// Who may elect another from now on: a majority of any of them.
  void set_electors(std::vector<Voters> electors);
  [[nodiscard]] const std::vector<Voters>& electors() const { return electors_; }

  /// The lead's end: `forever` where nobody can be elected without this process's vote.
  [[nodiscard]] Instant until() const { return until_; }

  friend bool operator==(const Lead&, const Lead&) = default;

 private:
  [[nodiscard]] Instant end() const;

  LeaseTimes times_;
  std::map<AgentId, Instant> heard_;
  std::vector<Voters> electors_;
  Instant until_ = forever;
};

}  // namespace ddprun
