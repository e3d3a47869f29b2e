// Signals that ask for an end, and when another one only says the same again.
#pragma once

#include "rendezvous/units.hpp"

#include <csignal>

namespace ddprun {

/// timeout(1), shells and terminals say TERM and HUP twice, to us and to our group, and INT as
/// well; but nobody presses ctrl-C twice within the shorter time.
[[nodiscard]] constexpr Millis same_request_patience(int signal) {
  return signal == SIGINT ? Millis{200} : Millis{1'000};
}

struct StopSignal {
  Instant at;
  int signal = 0;
  friend bool operator==(const StopSignal&, const StopSignal&) = default;
};

/// Whether `signal` says now what was asked before. SIGINT says more than other signals.
[[nodiscard]] inline bool says_again(const StopSignal& asked, Instant now, int signal) {
  const bool says_more = signal == SIGINT && asked.signal != SIGINT;
  return !says_more && now - asked.at <= same_request_patience(signal);
}

}  // namespace ddprun
