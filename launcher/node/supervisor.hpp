// The agent process's loop: what the parts of a node hear becomes the agent's events, and the
// agent's actions go to the parts that perform them. It decides nothing.
#pragma once

#include "launcher/guard/guard.hpp"
#include "launcher/guard/guard_line.hpp"
#include "launcher/guard/lease_notice.hpp"
#include "launcher/link/job_link.hpp"
#include "launcher/node/agent.hpp"
#include "launcher/node/console.hpp"
#include "launcher/node/ending.hpp"
#include "launcher/node/job.hpp"
#include "launcher/node/job_records.hpp"
#include "launcher/node/node_store.hpp"
#include "launcher/node/node_workers.hpp"
#include "launcher/node/slurm_side.hpp"
#include "launcher/node/snapshot_look.hpp"
#include "launcher/node/wait_watch.hpp"
#include "launcher/progress/progress.hpp"
#include "launcher/progress/status_row.hpp"
#include "rendezvous/generations/coordinator.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <optional>

namespace ddprun {

class Supervisor {
 public:
  Supervisor(Job job, GuardLink link);

  /// Runs the job. Returns the status to exit with; no process that it started is left by then.
  [[nodiscard]] int run();

 private:
  void perform(const AgentAction& action);
  void perform(const BindStore&);
  void perform(const SpawnWorkers& spawn);
  void perform(const KillAll&);
  void perform(const TellCoordinator& tell);
  void perform(const ExitWith& exit);

  void reach_coordinator();
  [[nodiscard]] JobLink::Handlers link_handlers();
  void look_at_wait();
  void workers_are_gone();

  Job job_;
  GuardLink link_;
  boost::asio::io_context context_;
  Console console_;
  JobRecords records_;
  GuardLine guard_;
  LeaseNotice lease_;
  AgentLoop agent_;
  Progress progress_;
  StatusRow status_;
  NodeWorkers workers_;
  SnapshotLook snapshot_;
  NodeStore store_;
  WaitWatch wait_;
  std::unique_ptr<JobLink> coordinator_;
  SlurmSide slurm_;
  Ending ending_;
};

}  // namespace ddprun
