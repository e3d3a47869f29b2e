// The times by which nobody outlives his right to run workers.
#pragma once

#include "rendezvous/units.hpp"

namespace ddprun {

/// A coordinator declares a node lost after `dead_after` of silence; the node's workers must be
/// dead by then. An agent's lease runs from the moment it *sent* the newest heartbeat that was
/// answered, so that no delay on the way can stretch it: heard at t or later, lost at
/// t + dead_after or later.
///   lease + time to kill < dead_after, each by its own machine's clock, whose rates differ little.
struct LeaseTimes {
  Millis dead_after{4'000};
  [[nodiscard]] Millis lease() const { return {dead_after.count * 3 / 4}; }
  [[nodiscard]] Millis heartbeat() const { return dead_after / 8; }
  friend bool operator==(const LeaseTimes&, const LeaseTimes&) = default;
};

}  // namespace ddprun
