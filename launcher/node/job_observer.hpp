// Turns what the supervisor dispatches anyway into the job's events: an event or action of a
// machine that means nothing to readers has none. Pure.
//
// Each kind of event and action is named in the source, so that a new one is no oversight.
#pragma once

#include "launcher/events/job_event.hpp"
#include "launcher/node/agent.hpp"
#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/wait.hpp"

#include <map>
#include <string>
#include <vector>

namespace ddprun {

/// Of this process in its job.
struct Standing {
  Wait waits = Wait::nothing;
  bool coordinates = false;
  friend bool operator==(const Standing&, const Standing&) = default;
};

class JobObserver {
 public:
  using Events = std::vector<JobEvent>;

  /// Each appends to `out`. In the order in which they happen: an agent's event before its actions.
  void on(const AgentEvent& event, Events& out);
  void on(const AgentAction& action, Events& out);
  /// Of a coordinator in this process.
  void on(const CoordinatorEvent& event, Events& out);
  /// The workers of the newest generation live, after SpawnWorkers.
  void on(const WorkersSpawned& started, Events& out);
  /// `waits_for` is for people.
  void on(Instant now, const Standing& standing, const std::string& waits_for, Events& out);

  [[nodiscard]] const Standing& standing() const { return standing_; }
  /// The newest one that this process has seen, and the first rank of this node in it.
  [[nodiscard]] GenerationNumber generation() const { return generation_; }
  [[nodiscard]] Rank first_rank() const { return first_rank_; }

 private:
  GenerationNumber generation_;
  Rank first_rank_;
  std::map<LocalRank, int> living_;  // pids of workers
  Standing standing_;
  Instant waits_since_;
};

}  // namespace ddprun
