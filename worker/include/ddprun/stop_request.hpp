// Requests to end or to save that all ranks obey at the same step. Launchers and batch systems send
// SIGTERM to processes at different moments, and maybe only to one of them. Ranks that obeyed on
// their own would stop at different steps, or leave the others waiting; but a snapshot is of
// one step.
#pragma once

#include "ddprun/control.hpp"
#include "ddprun/process_group.hpp"
#include "ddprun/signal_stack.hpp"

#include <torch/torch.h>

#include <csignal>
#include <string>

namespace ddprun::worker {

/// While alive, SIGTERM does not end this process; agreed() reports it. Make it when training
/// begins, and destroy it at its end: later code can be interrupted as usual. Do both in the
/// main thread, which is the one that Linux interrupts (see SignalStack).
///
///     StopRequest stop(group);
///     while (position.step < steps_count) {
///       train_step(position);
///       const bool is_last = stop.agreed();
///       const bool saves = is_last || stop.save_agreed() || position.step % save_every == 0;
///       if (saves) snapshots.save(position);
///       if (is_last) stop.leave(text("at step ", position.step));
///     }
class StopRequest {
 public:
  /// Handles SIGTERM from now on, and what ddprun asks by `control`, on all ranks or on none; it
  /// outlives this. Throws Error while this process has another StopRequest.
  explicit StopRequest(ProcessGroup group, Control* control = nullptr);
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;
  /// Restores the earlier handler of SIGTERM. A SIGTERM that came too late for agreed() is then
  /// raised again, unless an exception ends this.
  ~StopRequest();

  /// Whether SIGTERM has reached any rank, or ddprun has asked one to end after a step that is
  /// finished now: the same on all, and true from the same call on. SIGTERM may have come up to two
  /// calls ago: ranks begin to ask each other here, hear the answer in the next call, and so do not
  /// wait for one another. Collective: every rank calls it equally often,
  /// between the same collectives, as once a step. Throws c10::Error when a rank is gone.
  ///
  /// A call takes 0.2 ms of a core's time on each of two ranks that share two cores, and their
  /// steps then half a millisecond longer: steps of a few milliseconds need not ask each time.
  [[nodiscard]] bool agreed();

  /// Whether ddprun has asked any rank for a snapshot: the same on all, since the last agreed() and
  /// until the next one.
  [[nodiscard]] bool save_agreed() const { return is_save_agreed_; }

  /// For the program: this rank wants all ranks to end, as where their time is over. end_agreed()
  /// says to all, from the same agreed() on, that one has; what follows is theirs.
  void ask_end() { asks_end_ = true; }
  [[nodiscard]] bool end_agreed() const { return is_end_agreed_; }

  /// Throws Stopped, by which run() ends this process as SIGTERM would have, with the line "stopped
  /// by SIGTERM WHERE", or "by ddprun" if that has asked; before that, waits for all ranks. So a
  /// launcher does not see one end as a failure, and kill the others, while rank 0 still saves.
  /// Collective, once agreed() is true.
  [[noreturn]] void leave(const std::string& where) const;

 private:
  void count_own();
  [[nodiscard]] bool ends_here() const;
  void hear();

  ProcessGroup group_;
  Control* control_;
  SignalStack stack_;
  int exceptions_count_;  // that were in flight when this was made
  struct sigaction former_ {};
  // (4,) int64: ranks that SIGTERM has reached, that end here, that save, that ask for the end
  torch::Tensor counts_;
  c10::intrusive_ptr<c10d::Work> answer_;  // the sum that the last call began; until then null
  bool is_agreed_ = false;
  bool is_save_agreed_ = false;
  bool asks_end_ = false;
  bool is_end_agreed_ = false;
  const char* by_ = "SIGTERM";
};

}  // namespace ddprun::worker
