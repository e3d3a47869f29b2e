// How long an agent waits for its connections to others.
#pragma once

#include "rendezvous/units.hpp"

namespace ddprun {

/// From the call of connect until the connection is up, with its handshake, or down.
constexpr Millis connect_patience{3'000};

/// A ballot's connection is replaced after this age: a lost packet is repeated by the kernel after
/// longer and longer pauses, which a new connection does not inherit.
constexpr Millis ballot_line_age_max{1'000};
/// The kernel repeats an attempt to connect that is lost only after a second; so a new attempt
/// begins after this time.
constexpr Millis ballot_connect_patience{400};

}  // namespace ddprun
