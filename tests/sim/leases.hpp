// All leases of a pretended job, and the leads of who has granted them, by everybody's clock.
//
//   S13 no lease outlives the lead of whoever has granted it: not when it is granted, and not when
//       that lead's end comes forward later. Who is elected starts workers once the lead before is
//       over, and relies on this.
// What clocks may differ by is allowed.
#pragma once

#include "rendezvous/generations/voters.hpp"
#include "rendezvous/units.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace ddprun::sim {

/// A process that leads, from one election to its stepping down.
struct Reign {
  AgentId leader = 0;
  Epoch since;
  auto operator<=>(const Reign&) const = default;
};

class Leases {
 public:
  explicit Leases(Millis drift) : drift_(drift) {}

  /// Each returns the rule that is broken now, or nothing.
  [[nodiscard]] std::string leads(Instant now, const Reign& reign, Instant end);
  [[nodiscard]] std::string holds(Instant now, int host, const Reign& by, Instant end);
  void has_none(int host) { held_.erase(host); }
  /// By how much two hosts may disagree on when one ends.
  [[nodiscard]] Millis drift() const { return drift_; }

 private:
  struct Lease {
    Reign by;
    Instant end;
  };
  [[nodiscard]] std::string check(Instant now, int host, const Lease& lease) const;

  Millis drift_;
  std::map<int, Lease> held_;
  std::map<Reign, Instant> leads_;  // their ends, of those that are over as well
};

}  // namespace ddprun::sim
