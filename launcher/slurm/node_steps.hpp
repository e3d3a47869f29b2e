// The step keeper's shell: one srun for each node, and its output. It decides nothing.
#pragma once

#include "launcher/processes/child_output.hpp"
#include "launcher/processes/command_run.hpp"
#include "launcher/processes/reaper.hpp"
#include "launcher/processes/writer.hpp"
#include "launcher/slurm/srun_command.hpp"
#include "launcher/slurm/step_keeper.hpp"
#include "launcher/system/machine_loop.hpp"
#include "rendezvous/generations/coordinator.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ddprun {

class NodeSteps {
 public:
  struct Handlers {
    std::function<void(std::string)> on_note;    ///< One line for people.
    std::function<void(const Outcome&)> on_end;  ///< The job ends like that.
  };

  /// Starts the steps at once.
  NodeSteps(boost::asio::io_context& context,
            Writer& writer,
            AgentSteps steps,
            const sigset_t& user_signals,
            Handlers handlers);

  /// A child of this process has ended; it need not be a step.
  void on_child(const EndedChild& child);

  /// Of what the coordinator hears.
  void on_heard(const CoordinatorEvent& event);

  /// To the workers of all nodes: srun passes it on.
  void signal(int number) const;

  /// Its end was asked for: nothing is started any more.
  void stop(const StopRequested& how) { tell(StopAsked{how}); }

  /// The same, and lost nodes are not waited for.
  void job_is_over();

  /// The job is over: calls `done` when no step is left.
  void finish(std::function<void()> done);

 private:
  struct Step {
    int pid = 0;
    std::shared_ptr<ChildOutput> out;
    std::shared_ptr<ChildOutput> err;
  };

  void tell(const StepEvent& event);
  void perform(const StartStep& start);
  void perform(const KillStep& kill);
  void perform(const EndJob& end) const;
  void perform(const Note& note) const;
  [[nodiscard]] std::shared_ptr<ChildOutput> open_output(Fd pipe,
                                                         const std::shared_ptr<Sink>& console,
                                                         const std::string& node);

  boost::asio::io_context& context_;
  Writer& writer_;
  AgentSteps options_;
  Handlers handlers_;
  std::shared_ptr<Sink> stdout_;
  std::shared_ptr<Sink> stderr_;
  CommandStarter starter_;
  MachineLoop<StepKeeper, StepEvent, StepAction> keeper_;
  std::map<NodeId, Step> steps_;
  std::function<void()> done_;
};

}  // namespace ddprun
