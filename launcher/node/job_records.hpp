// The files by which a process tells programs of its job: each event as it happens (--events), and
// the report at the end (--report). The writer's thread writes them: a stalled file costs no lease.
#pragma once

#include "launcher/link/job_link.hpp"
#include "launcher/node/agent.hpp"
#include "launcher/node/job.hpp"
#include "launcher/node/job_observer.hpp"
#include "launcher/node/report.hpp"
#include "launcher/processes/writer.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace ddprun {

class JobRecords {
 public:
  /// Both outlive this.
  JobRecords(Writer& files, const Job& job);

  void job_starts();
  /// To be called with all of an agent's events and actions, before they have any effect, and with
  /// the events of a coordinator in this process.
  void on(const AgentEvent& event);
  void on(const AgentAction& action);
  void on(const CoordinatorEvent& event);
  /// By pid.
  void workers_live(const std::map<int, LocalRank>& workers);
  /// To be called after each event that may have changed what is waited for or who coordinates.
  void look(const JobLink& link, const Agent& agent);
  /// The job has ended so. Only the process whose coordinator has that `newest` generation reports.
  void job_ends(const Outcome& outcome,
                const std::optional<FailureFacts>& facts,
                const Generation* newest);

 private:
  void write(const JobObserver::Events& events);

  Writer& files_;
  const Job& job_;
  std::shared_ptr<Sink> events_;  // none without --events
  JobObserver observer_;
  Instant started_;
  std::string started_text_;
};

}  // namespace ddprun
