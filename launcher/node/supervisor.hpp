// The agent process's shell: feeds the agent with what happens, and performs what it answers. It
// moves bytes and keeps one timer; it decides nothing.
#pragma once

#include "launcher/link/job_link.hpp"
#include "launcher/node/agent.hpp"
#include "launcher/node/guard.hpp"
#include "launcher/node/job.hpp"
#include "launcher/node/lease_notice.hpp"
#include "launcher/node/snapshot_look.hpp"
#include "launcher/node/store_check.hpp"
#include "launcher/processes/writer.hpp"
#include "launcher/slurm/batch_job.hpp"
#include "launcher/slurm/node_steps.hpp"
#include "launcher/system/machine_loop.hpp"
#include "launcher/text/endpoint.hpp"
#include "launcher/workers/worker_group.hpp"
#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/store/store_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <string>

namespace ddprun {

class Supervisor {
 public:
  Supervisor(Job job, GuardLink link);

  /// Runs the job. Returns the status to exit with; no process that it started is left by then.
  [[nodiscard]] int run();

 private:
  void perform(const AgentAction& action);

  void on(const BindStore&);
  void on(const CloseStore&);
  void on(const LookAtSnapshot&);
  void on(const SpawnWorkers& spawn);
  void on(const SignalWorkers& signal);
  void on(const KillAll&);
  void on(const TellCoordinator& tell);
  void on(const ExitWith& exit);

  void reach_coordinator();
  void start_steps(const Endpoint& endpoint);
  void pass_to_steps(int signal);
  void start_batch_job();
  void stop_to_go_on();
  void check_store();
  void wait_for_guard();
  void take_signal(unsigned char byte);
  void wait_for_children();
  void reap();
  void workers_are_gone();
  [[nodiscard]] bool is_told_for_all() const;
  [[nodiscard]] bool is_own(const Outcome& outcome) const;
  [[nodiscard]] std::deque<std::string> last_lines(const Outcome& outcome) const;
  [[nodiscard]] std::string error_file(const Outcome& outcome) const;
  void leave_batch_job(const Outcome& outcome);
  void write_out(const Outcome& outcome);
  void report(const Outcome& outcome);
  void exit_now() const;
  void exit_soon();
  void say(const std::string& text);

  Job job_;
  GuardLink link_;
  boost::asio::io_context context_;
  Writer writer_;
  std::shared_ptr<Sink> stderr_;
  boost::asio::posix::stream_descriptor guard_;
  LeaseNotice lease_;
  boost::asio::posix::stream_descriptor child_signals_;
  boost::asio::steady_timer exit_timer_;
  WorkerGroup workers_;
  SnapshotLook snapshot_;
  MachineLoop<Agent, AgentEvent, AgentAction> agent_;
  std::unique_ptr<JobLink> coordinator_;
  std::unique_ptr<NodeSteps> steps_;  // in a batch script
  std::unique_ptr<BatchJob> batch_;   // inside of Slurm
  StopRequested asked_;               // how its end was asked for, with `steps_`
  std::string address_;               // of this node, for others
  std::unique_ptr<StoreServer> store_;
  std::unique_ptr<StoreCheck> store_check_;  // while a generation of many nodes begins
  Part part_;                                // of the newest generation, for what is said about it
  bool sweeping_ = false;                    // KillAll was asked for; AllGone was not answered yet
  bool guard_lost_ = false;
  bool told_ = false;  // by the coordinator how the job has ended
  std::optional<int> exit_status_;
  bool exits_soon_ = false;
};

}  // namespace ddprun
