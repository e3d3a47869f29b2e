// How an agent's process ends once its agent has said so: the steps in their order. A pure state
// machine.
//
//   others    hear how the job ends; from now on no agent is started again;
//   steps     of Slurm end, where this process started some;
//   queue     the job is queued again, where it is to be;
//   output    is written after the records, and the process ends.
//
// A process without a guard, or one that is asked to end once more, leaves out what is still to be
// done: nobody waits for the rest of its output.
#pragma once

#include "launcher/node/agent.hpp"
#include "rendezvous/outcome.hpp"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace ddprun {

/// The agent exits with this. Workers that are left could not be killed.
struct EndBegins {
  Outcome outcome;
  bool workers_left = false;
};
struct OthersTold {};
/// Whether the coordinator is in this process: it alone queues the job again.
struct StepsEnded {
  bool coordinates = false;
};
/// The job ends so: otherwise than before where it is Slurm that needs the nodes.
struct QueueAnswered {
  Outcome outcome;
};
using LastStepEvent =
    std::variant<EndBegins, OthersTold, StepsEnded, QueueAnswered, GuardLost, SignalArrived>;

/// Tell the others, and start no agent again. OthersTold follows once none waits to hear it.
struct TellOthers {
  Outcome outcome;
  friend bool operator==(const TellOthers&, const TellOthers&) = default;
};
/// StepsEnded follows once no step is left.
struct EndSteps {
  friend bool operator==(const EndSteps&, const EndSteps&) = default;
};
/// QueueAnswered follows.
struct QueueAgain {
  Outcome outcome;
  friend bool operator==(const QueueAgain&, const QueueAgain&) = default;
};
/// Write records, traces and the summary of the job, which ends so.
struct RecordEnd {
  Outcome outcome;
  friend bool operator==(const RecordEnd&, const RecordEnd&) = default;
};
/// Write all output, and the outcome last; then end the process.
struct WriteOut {
  friend bool operator==(const WriteOut&, const WriteOut&) = default;
};
/// End the process in a moment, whatever is left to do.
struct EndSoon {
  friend bool operator==(const EndSoon&, const EndSoon&) = default;
};
/// Tell the coordinator in the guard's place that no process is left here but this one.
struct DeliverWill {
  friend bool operator==(const DeliverWill&, const DeliverWill&) = default;
};
/// Remove what the guard would have removed, write the files, and end the process.
struct EndWithFiles {
  friend bool operator==(const EndWithFiles&, const EndWithFiles&) = default;
};
using LastStepAction = std::variant<TellOthers,
                                    EndSteps,
                                    QueueAgain,
                                    RecordEnd,
                                    WriteOut,
                                    EndSoon,
                                    DeliverWill,
                                    EndWithFiles>;

class LastSteps {
 public:
  void on_event(const LastStepEvent& event, std::vector<LastStepAction>& out);

  /// How the process ends as far as is known; nothing until it is to end.
  [[nodiscard]] const std::optional<Outcome>& outcome() const { return outcome_; }

 private:
  using Actions = std::vector<LastStepAction>;
  enum class Step : std::uint8_t { none, others, steps, queue, output, cut_short };

  void on(const EndBegins& begins, Actions& out);
  void on(const OthersTold&, Actions& out);
  void on(const StepsEnded& ended, Actions& out);
  void on(const QueueAnswered& answered, Actions& out);
  void on(const GuardLost&, Actions& out);
  void on(const SignalArrived& arrived, Actions& out);

  void write_out(Actions& out);
  void cut_short(Actions& out);
  void record(Actions& out);

  Step step_ = Step::none;
  std::optional<Outcome> outcome_;
  bool workers_left_ = false;
  bool guard_lost_ = false;
  bool is_recorded_ = false;
};

}  // namespace ddprun
