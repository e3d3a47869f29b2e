// A signal that has asked for an end, and when another one only says the same again. Pure.
#pragma once

#include "rendezvous/units.hpp"

#include <csignal>

namespace ddprun {

/// timeout(1), shells and terminals say TERM and HUP twice, to us and to our group.
constexpr Millis same_request_patience{1'000};
/// timeout(1) says INT twice, too; nobody presses ctrl-C twice within this time.
constexpr Millis same_interrupt_patience{200};

struct StopSignal {
  Instant at;
  int signal = 0;
  friend bool operator==(const StopSignal&, const StopSignal&) = default;
};

/// Whether `signal` says now what was asked before. SIGINT says more than other signals.
[[nodiscard]] inline bool says_again(const StopSignal& asked, Instant now, int signal) {
  if (signal != SIGINT) return now - asked.at <= same_request_patience;
  return asked.signal == SIGINT && now - asked.at <= same_interrupt_patience;
}

}  // namespace ddprun
