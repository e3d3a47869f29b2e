// Events for an agent from its coordinator and from the connection to it.
#pragma once

#include "rendezvous/generations/coordinator_events.hpp"
#include "rendezvous/outcome.hpp"

#include <variant>

namespace ddprun {

/// The lease has ended: this node's workers must die.
struct LeaseEnded {
  friend bool operator==(const LeaseEnded&, const LeaseEnded&) = default;
};
/// The coordinator has given this node up, and ignores it until it joins again.
struct LifeEnded {
  friend bool operator==(const LifeEnded&, const LifeEnded&) = default;
};
/// There is no coordinator, and the agent no longer waits for one.
struct GiveUp {
  Outcome outcome;
  friend bool operator==(const GiveUp&, const GiveUp&) = default;
};
using LinkEvent = std::variant<StartGeneration,
                               StopGeneration,
                               FinishJob,
                               LeaseEnded,
                               LifeEnded,
                               GiveUp,
                               SaveGeneration>;

}  // namespace ddprun
