// The guard: the outermost of ddprun's processes, which lives to clean up.
//
// It forks the agent, and in jobs of many nodes the fence. It passes signals to the agent as
// messages, and exits with the agent's status. If the agent dies silently, the guard kills every
// process that the agent left. If the guard dies, the agent sees the end of their socketpair and
// does the same: kill -9 of either leaves no process.
//
// Invariants
//   G1  A signal reaches the agent once, although a terminal sends it to both processes: the agent
//       blocks them all and hears of them from the guard alone.
//   G2  Workers whose lease has ended die, even if the agent is stopped: only a later
//       lease or the end of all workers prevents the kill.
//   G3  When the guard exits, no process that ddprun started is left.
//   G4  The process groups of workers that have a lease die between its end and dead-after also
//       while all of ddprun's processes are stopped: fence.hpp.
//   G5  A will is delivered only when no process that the agent has started is left.
#pragma once

#include "launcher/guard/fence.hpp"
#include "launcher/guard/last_will.hpp"
#include "rendezvous/fd.hpp"

#include <signal.h>

#include <functional>
#include <optional>

namespace ddprun {

/// Set in a byte whose signal came from a key of the terminal; the other bits are its number.
constexpr unsigned char from_terminal_bit = 0x80;

/// What the agent process begins with.
struct GuardLink {
  int guard = 0;  ///< Its pid, which is the one that the user has started.
  /// Each byte received is a signal (see `from_terminal_bit`); its end is the guard's death. Sent
  /// are GuardMessages: leases, as a LeaseNotice says, and a WillAddress whenever that changes.
  Fd socket;
  FenceLink fence;          ///< Nothing in it without a fence.
  sigset_t user_signals{};  ///< The mask that this program was started with, for the workers.
};

struct GuardOptions {
  std::optional<FenceOptions> fence;  ///< Of workers under a lease.
  bool erases_row = false;            ///< Of a terminal, which the agent may have left drawn.
  std::optional<LastWill> will;       ///< In a job of many nodes.
};

/// Runs `agent` in a child process and returns the status to exit with: the agent's own.
/// Must be called while the process has a single thread.
[[nodiscard]] int run_guarded(const GuardOptions& options,
                              const std::function<int(GuardLink)>& agent);

}  // namespace ddprun
