// The lease of a node's workers as its guard knows it: who is killed when. A pure state machine.
#pragma once

#include "rendezvous/units.hpp"

#include <optional>
#include <utility>

namespace ddprun {

/// While workers may live, the guard kills them at `end` unless it has been told another end. The
/// newest counts.
struct GuardedLease {
  bool workers_live = false;
  Instant end;  ///< By now() of clock.hpp.
};

class LeaseWatch {
 public:
  /// What the agent has told last.
  void tell(const GuardedLease& told) { lease_ = told; }

  [[nodiscard]] bool workers_live() const { return lease_.workers_live; }

  /// When `take_end` is to be asked; nothing: not before the next lease is told.
  [[nodiscard]] std::optional<Instant> next_deadline() const {
    return lease_.workers_live ? std::optional(lease_.end) : std::nullopt;
  }

  /// Whether the workers are to be killed now. True once for each lease.
  [[nodiscard]] bool take_end(Instant now) {
    if (!lease_.workers_live || now < lease_.end) return false;
    return std::exchange(lease_.workers_live, false);
  }

 private:
  GuardedLease lease_;
};

}  // namespace ddprun
