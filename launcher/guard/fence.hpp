// The fence: ends workers whose lease is over while all of ddprun's processes are stopped.
//
// Agent and guard kill workers at the end of their lease, and both may be stopped. So the guard
// has a second child, the fence process, which alone holds the write end of a pipe. For each worker
// the guard holds a read end of that pipe, whose owner is the worker's process group and whose
// signal is SIGKILL: when the write end closes, the kernel kills all groups. A timer, which the
// process sets anew with each lease, kills the process itself.
//
//   the lease's end       agent and guard kill
//   + margin / 4          the fence process kills what is below the agent, and ends
//   + margin / 2          the timer kills the fence process, and the kernel all groups
//   + margin              others may start: dead_after
//
// The agent does not hold the write end, since an agent that was stopped may resume and join again.
// The fence process can be replaced: the guard starts another one.
//
// Bounds
//   A descriptor for each worker in the guard and one in the agent, at most an eighth of the limit.
//   A fence process that was told no lease has one successor at the next lease.
#pragma once

#include "rendezvous/fd.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/units.hpp"

#include <signal.h>

#include <time.h>
#include <vector>

namespace ddprun {

struct FenceOptions {
  int worker_count = 1;
  Millis margin;  ///< From the end of a lease until others may start.
};

/// What the agent has of it.
struct FenceLink {
  Fd line;  ///< Sent are GuardedLeases, as GuardMessages.
  /// By local rank. To be owned by the worker's process group before the worker's program runs.
  std::vector<Fd> group_ends;
};

class Fence {
 public:
  /// Before the agent is forked. Fails with what the system refuses.
  [[nodiscard]] static Result<Fence> open(const FenceOptions& options);

  /// In the agent process.
  [[nodiscard]] FenceLink take_link();

  /// In the guard: starts the fence process, which needs the guard's socket to the agent least.
  void begin(int agent_pid, int guard_socket);

  /// For poll, where its hang-up is the fence process's end; -1: there is none.
  [[nodiscard]] int process_end() const { return pid_ > 0 ? group_ends_.front().get() : -1; }

  /// The guard was told a lease; the fence process has ended.
  void on_lease();
  void on_process_end();

 private:
  Fence() = default;
  void start();
  [[noreturn]] void run() const;
  void wait_for_lease_end(timer_t timer) const;

  Millis margin_;
  Fd agent_line_;  // the agent's end of a socketpair
  Fd line_;        // the other one, which outlives each fence process
  std::vector<Fd> group_ends_;
  int agent_pid_ = -1;
  int guard_socket_ = -1;
  int pid_ = -1;
  enum class Use { fresh, told, refused } use_ = Use::fresh;  // of the newest fence process
};

}  // namespace ddprun
