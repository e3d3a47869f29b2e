// The questions and orders to Slurm about a job whose workers have ended: whether it was
// preempted, and whether it is queued again. Pure.
//
// States
//   asking_preempted  asks whether Slurm has preempted the job
//   asking_state      asks whether the job is over for Slurm, and how often it was queued again
//   queueing          queues the job again
//   left              there is nothing more to do
// Invariant
//   Q1  A job is queued again only with the status that says "run again", at most
//       `requeues_max` times in its life, and never when Slurm says that it ends the job, since
//       a user may have cancelled it.
// Bounds
//   One command at a time, each at most once. A command without an answer has failed; without an
//   answer about the state, fall back to the job's environment.
#pragma once

#include "launcher/slurm/slurm_control.hpp"
#include "rendezvous/machine_events.hpp"
#include "rendezvous/outcome.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

/// The output of a command, or why it has failed.
struct SlurmAnswer {
  bool success = false;
  std::string text;
};

/// To be answered by SlurmAnswer, within `patience`.
struct AskSlurm {
  Command command;
  Millis patience;
  friend bool operator==(const AskSlurm&, const AskSlurm&) = default;
};
/// The last action: the job ends so.
struct LeaveJob {
  Outcome outcome;
  friend bool operator==(const LeaveJob&, const LeaveJob&) = default;
};
using RequeueAction = std::variant<AskSlurm, Note, LeaveJob>;

class Requeue {
 public:
  Requeue(Outcome outcome, int requeues_max, SlurmControl slurm);

  /// The first actions: call once, before any answer.
  void start(std::vector<RequeueAction>& out);

  /// Applies one answer and appends what must be done. Total: an answer to nothing changes nothing.
  void on_event(const SlurmAnswer& answer, std::vector<RequeueAction>& out);

 private:
  enum class State : std::uint8_t { asking_preempted, asking_state, queueing, left };
  using Actions = std::vector<RequeueAction>;

  void ask(State state, const Command& command, Millis patience, Actions& out);
  void ask_state(Actions& out);
  void queue_again(const std::optional<SlurmState>& state, Actions& out);
  /// Nothing: the job goes back into the queue.
  [[nodiscard]] std::optional<std::string> reason_against(std::int64_t restarts_count,
                                                          bool is_ended) const;
  void leave(Actions& out);

  Outcome outcome_;
  int requeues_max_;
  SlurmControl slurm_;
  State state_ = State::left;
};

}  // namespace ddprun
