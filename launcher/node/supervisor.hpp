// The agent process's shell: gives the agent its events, and performs its actions. It moves bytes
// and keeps one timer. Of the job it decides nothing; how its own process ends once the outcome is
// known, it does.
#pragma once

#include "launcher/link/job_link.hpp"
#include "launcher/node/agent.hpp"
#include "launcher/node/failure_look.hpp"
#include "launcher/node/guard.hpp"
#include "launcher/node/guard_line.hpp"
#include "launcher/node/hang_watch.hpp"
#include "launcher/node/job.hpp"
#include "launcher/node/job_records.hpp"
#include "launcher/node/last_output.hpp"
#include "launcher/node/last_will.hpp"
#include "launcher/node/lease_notice.hpp"
#include "launcher/node/node_store.hpp"
#include "launcher/node/progress.hpp"
#include "launcher/node/slurm_side.hpp"
#include "launcher/node/snapshot_look.hpp"
#include "launcher/node/status_row.hpp"
#include "launcher/node/wait_watch.hpp"
#include "launcher/node/worker_requests.hpp"
#include "launcher/processes/blocked_signal.hpp"
#include "launcher/processes/writer.hpp"
#include "launcher/system/deadline_timer.hpp"
#include "launcher/system/machine_loop.hpp"
#include "launcher/workers/worker_group.hpp"
#include "rendezvous/generations/coordinator.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
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

  void perform(const BindStore&);
  void perform(const CloseStore&);
  void perform(const LookAtSnapshot&);
  void perform(const SpawnWorkers& spawn);
  void perform(const SignalWorkers& signal);
  void perform(const AskToSave& ask);
  void perform(const KillAll&);
  void perform(const Suspend&);
  void perform(const TellCoordinator& tell);
  void perform(const Note& note);
  void perform(const ExitWith& exit);

  void reach_coordinator();
  void told(const FinishJob& finish);
  void look_at_wait();
  [[nodiscard]] StatusRow::Redraw redraws_status();
  void hear(LocalRank local_rank, const ControlMessage& message);
  void answer_save();
  void look_for_hang();
  void take_signal(int signal, bool from_terminal);
  void say_events_are_late();
  void lose_guard();
  void end_without_guard(const Outcome& outcome);
  void reap();
  void sweep();
  void workers_are_gone();
  void report(const Outcome& outcome, const std::optional<FailureFacts>& facts);
  void say(const std::string& text);

  Job job_;
  GuardLink link_;
  boost::asio::io_context context_;
  Writer console_;
  Writer files_;
  JobRecords records_;
  std::shared_ptr<Sink> stderr_;
  GuardLine guard_;
  LeaseNotice lease_;
  WillNotice will_;
  BlockedSignal children_;
  LastOutput last_output_;
  Progress progress_;
  HangWatch hang_;
  DeadlineTimer hang_timer_;
  WorkerGroup workers_;
  WorkerRequests requests_;
  FailureLook failure_;
  SnapshotLook snapshot_;
  NodeStore store_;
  MachineLoop<Agent, AgentEvent, AgentAction> agent_;
  StatusRow status_;
  WaitWatch wait_;
  std::unique_ptr<JobLink> coordinator_;
  SlurmSide slurm_;
  std::string address_;    // of this node, for others
  Part part_;              // of the newest generation, for what is said about it
  bool sweeping_ = false;  // KillAll was asked for; AllGone was not answered yet
  bool reaping_ = false;   // that workers have ended is told before what they said last
  bool told_ = false;      // by the coordinator how the job has ended
};

}  // namespace ddprun
