// The agent process's loop: what the parts of a node hear becomes the node's events, and the node's
// actions go to the parts that perform them. It decides nothing.
#pragma once

#include "launcher/guard/guard.hpp"
#include "launcher/guard/guard_line.hpp"
#include "launcher/link/member_link.hpp"
#include "launcher/node/console.hpp"
#include "launcher/node/ending.hpp"
#include "launcher/node/job.hpp"
#include "launcher/node/job_records.hpp"
#include "launcher/node/node_loop.hpp"
#include "launcher/node/node_store.hpp"
#include "launcher/node/node_workers.hpp"
#include "launcher/node/slurm_side.hpp"
#include "launcher/node/snapshot_look.hpp"
#include "launcher/node/wait_watch.hpp"
#include "launcher/progress/progress.hpp"
#include "launcher/progress/status_row.hpp"

#include <boost/asio/io_context.hpp>

#include <optional>
#include <vector>

namespace ddprun {

class Supervisor : private NodeObserver {
 public:
  /// Throws as MemberLink does.
  Supervisor(Job job, GuardLink link);

  /// Runs the job. Returns the status to exit with; no process that it started is left by then,
  /// unless SIGKILL does not end it.
  [[nodiscard]] int run();

 private:
  void told(const Agent&, const AgentEvent& event) override;
  void told(const Coordinator&, const CoordinatorEvent& event) override;
  void answered(const Agent&, const std::vector<AgentAction>& actions) override;
  void answered(const Coordinator&, const std::vector<CoordinatorAction>&) override;

  void perform(const NodeAction& action);
  void perform(const LocalAction& action);
  void perform(const BindStore&);
  void perform(const SpawnWorkers& spawn);
  void perform(const KillAll& kill);

  [[nodiscard]] Membership membership();
  void start();
  void look_at_wait();

  Job job_;
  GuardLink link_;
  boost::asio::io_context context_;
  Console console_;
  JobRecords records_;
  GuardLine guard_;
  std::optional<MemberLink> member_;  // in a job of many nodes
  NodeLoop node_;
  Progress progress_;
  StatusRow status_;
  NodeWorkers workers_;
  SnapshotLook snapshot_;
  NodeStore store_;
  WaitWatch wait_;
  SlurmSide slurm_;
  Ending ending_;
};

}  // namespace ddprun
