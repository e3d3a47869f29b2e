// The guard: the outer of ddprun's two processes, which lives to clean up.
//
// It forks the agent, passes signals on to it as messages, and exits with its status. If the agent
// dies without a word, the guard kills everything that the agent left. If the guard dies, the agent
// sees the end of their socketpair and does the same on its side: kill -9 of either leaves nothing.
//
// Invariants
//   G1  A signal reaches the agent once, although a terminal sends it to both processes: the agent
//       blocks them all and hears of them from the guard alone.
//   G2  Workers whose lease has ended die, also when the agent is stopped.
//   G3  When the guard exits, no process that ddprun started is left.
#pragma once

#include "launcher/fd.hpp"
#include "rendezvous/units.hpp"

#include <signal.h>

#include <functional>

namespace ddprun {

/// Set in a byte whose signal came from a key of the terminal; the other bits are its number.
constexpr unsigned char from_terminal_bit = 0x80;

/// Until when workers may live unless it is said anew: the guard kills them then, since the agent
/// may have been stopped. An agent that says nothing has nobody to fear.
struct GuardedLease {
  bool granted = false;
  Instant end;  ///< By now() of clock.hpp.
};

/// What the agent process begins with.
struct GuardLink {
  /// Each byte received is a signal (see `from_terminal_bit`); its end is the guard's death. Sent
  /// is until when workers may live, each time that it changes, as a GuardedLease.
  Fd socket;
  sigset_t user_signals{};  ///< The mask that this program was started with, for the workers.
};

/// Runs `agent` in a child process and returns the status to exit with: the agent's own.
/// Must be called while the process has a single thread. Where `stops` is false ctrl-Z changes
/// nothing: with both processes stopped nobody would end workers whose lease is over.
[[nodiscard]] int run_guarded(bool stops, const std::function<int(GuardLink)>& agent);

}  // namespace ddprun
