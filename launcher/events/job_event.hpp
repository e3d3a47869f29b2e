// What happens to a job, as one of its processes sees it: the vocabulary of --events, which
// ddprun-events(5) describes. Events that have a type already are of that type.
#pragma once

#include "rendezvous/generations/coordinator_events.hpp"
#include "rendezvous/membership/link_events.hpp"
#include "rendezvous/outcome.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/wait.hpp"
#include "rendezvous/worker_end.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ddprun {

struct JobStarted {
  std::string version;
  int nodes_min = 1;
  int nodes_max = 1;
  bool witness = false;
  int worker_count = 0;  ///< That this process starts.
  int restarts_max = 0;
};
struct JobFinished {
  Outcome outcome;
};
struct WaitBegan {
  Wait what = Wait::nothing;
  std::string text;  ///< For people; may be empty.
};
struct WaitEnded {
  Millis waited;
};
/// From now on the coordinator is in this process, and is no longer.
struct CoordinationStarted {};
struct CoordinationEnded {};
struct GenerationStarted {
  Part part;
};
struct LivingWorker {
  LocalRank local_rank;
  int pid = 0;
  friend bool operator==(const LivingWorker&, const LivingWorker&) = default;
};
struct WorkersSpawned {
  std::vector<LivingWorker> workers;
};
/// They still lived when SIGKILL was sent.
struct WorkersKilled {
  std::vector<LivingWorker> workers;
};
struct SignalReceived {
  int signal = 0;
  bool from_terminal = false;
};

using JobEvent = std::variant<JobStarted,
                              CoordinationStarted,
                              CoordinationEnded,
                              WaitBegan,
                              WaitEnded,
                              Join,
                              NodeLost,
                              GenerationStarted,
                              WorkersSpawned,
                              WorkerEnded,
                              WorkerFailed,
                              StoreUnreachable,
                              SignalReceived,
                              StopRequested,
                              LeaveRequested,
                              SaveReported,
                              StopGeneration,
                              WorkersKilled,
                              WorkersStuck,
                              LeaseEnded,
                              LifeEnded,
                              GiveUp,
                              JobFinished>;

}  // namespace ddprun
