// How an agent's process ends once its agent has said so: the steps in their order. A pure state
// machine.
//
//   others    hear how the job ends; from now on no agent is started again;
//   steps     of Slurm end, where this process started some;
//   queue     the job is queued again, where it is to be;
//   output    is written after the records, and the process ends.
//
// A process whose guard is lost leaves out what is still to be done, since nobody waits for the
// rest of its output. After a signal it ends in a moment. But in a Slurm job only SIGINT does that
// until the step `output`, because Slurm sends the others when a job ends.
#pragma once

#include "launcher/node/agent.hpp"
#include "rendezvous/outcome.hpp"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace ddprun {

/// The agent exits so. Processes may be left that could not be killed.
struct EndBegins {
  Outcome outcome;
  bool workers_left = false;
};
/// Whether the coordinator is in this process: it alone queues the job again.
struct OthersTold {
  bool coordinates = false;
};
struct StepsEnded {};
/// The job ends so: otherwise than before where it is Slurm that needs the nodes.
struct QueueAnswered {
  Outcome outcome;
};
struct GuardDied {
  bool workers_left = false;
};
using LastStepEvent =
    std::variant<EndBegins, OthersTold, StepsEnded, QueueAnswered, GuardDied, HurryEnd>;

/// Tell the others, and start no agent again. OthersTold follows once none waits to hear it.
struct TellOthers {
  Outcome outcome;
};
/// StepsEnded follows once no step is left.
struct EndSteps {};
/// QueueAnswered follows.
struct QueueAgain {
  Outcome outcome;
};
/// Write records, traces and the summary of the job, which ends so.
struct RecordEnd {
  Outcome outcome;
};
/// Write all output, and the outcome last; then end the process.
struct WriteOut {};
/// End the process in a moment, whatever is left to do.
struct EndSoon {};
/// Tell the coordinator in the guard's place that no process is left here but this one.
struct DeliverWill {};
/// Remove what the guard would have removed, write the files, and end the process.
struct EndWithFiles {};
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
  explicit LastSteps(bool in_slurm_job) : in_slurm_job_(in_slurm_job) {}

  void on_event(const LastStepEvent& event, std::vector<LastStepAction>& out);

  /// How the process ends as far as is known; nothing until it is to end.
  [[nodiscard]] const std::optional<Outcome>& outcome() const { return outcome_; }

 private:
  using Actions = std::vector<LastStepAction>;
  enum class Step : std::uint8_t { none, others, steps, queue, output, cut_short };

  void on(const EndBegins& begins, Actions& out);
  void on(const OthersTold& told, Actions& out);
  void on(const StepsEnded&, Actions& out);
  void on(const QueueAnswered& answered, Actions& out);
  void on(const GuardDied& died, Actions& out);
  void on(const HurryEnd& hurry, Actions& out);

  void write_out(Actions& out);
  void cut_short(bool workers_left, Actions& out);
  void record(Actions& out);

  bool in_slurm_job_;
  Step step_ = Step::none;
  std::optional<Outcome> outcome_;
  bool coordinates_ = false;
  bool guard_lost_ = false;
  bool is_recorded_ = false;
};

}  // namespace ddprun
