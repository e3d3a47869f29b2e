// Lease timing: no agent may run workers after its lease expires.
#pragma once

#include "rendezvous/units.hpp"

namespace ddprun {

/// A coordinator declares a node lost after `dead_after` of silence; the node's workers must be
/// dead by then. An agent's lease runs from the moment it *sent* the newest heartbeat that was
/// answered, so that no delay on the way can stretch it: heard at t or later, lost at
/// t + dead_after or later.
///   lease + time to kill < dead_after, each by its own machine's clock, whose rates differ little.
/// An outage that is no longer than 5/8 of dead_after (2.5 s of 4 s) costs nothing. It may begin a
/// heartbeat after the newest one that was answered. As it ends, one attempt to connect may fail
/// (an eighth of the lease); the next heartbeat is answered a heartbeat and an eighth later.
struct LeaseTimes {
  Millis dead_after{4'000};
  Millis lease{dead_after.count * 7 / 8};
  Millis heartbeat{dead_after.count / 16};
  friend bool operator==(const LeaseTimes&, const LeaseTimes&) = default;
};
static_assert(LeaseTimes{}.dead_after * 5 / 8 + LeaseTimes{}.heartbeat * 17 / 8 +
                  LeaseTimes{}.lease / 8 <
              LeaseTimes{}.lease);

/// From a lease's end until others may start: the time to kill.
[[nodiscard]] constexpr Millis margin_of(const LeaseTimes& times) {
  return times.dead_after - times.lease;
}

}  // namespace ddprun
