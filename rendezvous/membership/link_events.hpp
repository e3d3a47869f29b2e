// What an agent hears from its coordinator, and of the way to it.
#pragma once

#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/outcome.hpp"

#include <variant>

namespace ddprun {

/// Nobody says any more that this node's workers may live.
struct LeaseEnded {
  friend bool operator==(const LeaseEnded&, const LeaseEnded&) = default;
};
/// The coordinator has given this node up, and will only hear of it again when it joins anew.
struct LifeEnded {
  friend bool operator==(const LifeEnded&, const LifeEnded&) = default;
};
/// There is no coordinator any more, and none is waited for.
struct GiveUp {
  Outcome outcome;
  friend bool operator==(const GiveUp&, const GiveUp&) = default;
};
using LinkEvent =
    std::variant<StartGeneration, StopGeneration, FinishJob, LeaseEnded, LifeEnded, GiveUp>;

}  // namespace ddprun
