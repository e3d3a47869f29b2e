#include "launcher/node/job_observer.hpp"

#include "launcher/events/event_line.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <string>

namespace ddprun {
namespace {

/// An observer whose events are told by their names.
struct Observed {
  JobObserver observer;

  template <typename... Arguments>
  std::string names(const Arguments&... arguments) {
    JobObserver::Events events;
    observer.on(arguments..., events);
    std::string text;
    for (const JobEvent& event : events) {
      text += (text.empty() ? "" : " ") + std::string(event_names().at(event.index()));
    }
    return text;
  }
  std::string told(const AgentEvent& event) { return names(event); }
  std::string does(const AgentAction& action) { return names(action); }
  std::string hears(const CoordinatorEvent& event) { return names(event); }

  /// Two workers of generation 3 live here, from rank 4.
  void start_workers() {
    Part part;
    part.number = GenerationNumber{3};
    part.first_rank = Rank{4};
    part.worker_count = 2;
    CHECK(does(SpawnWorkers{part}) == "generation_started");
    CHECK(names(WorkersSpawned{{{LocalRank{0}, 70}, {LocalRank{1}, 71}}}) == "workers_started");
  }
  std::string end(int local_rank) { return told(WorkerEnded{LocalRank{local_rank}, 70, {}}); }
  std::string stop(int generation) {
    return told(StopGeneration{NodeId{0}, GenerationNumber{generation}, SIGTERM, Millis{1'000}});
  }
};

TEST_CASE("job observer: lines after a generation's start are of that generation") {
  Observed job;
  CHECK(job.observer.generation() == GenerationNumber{});
  job.start_workers();
  CHECK(job.observer.generation() == GenerationNumber{3});
  CHECK(job.observer.first_rank() == Rank{4});
  CHECK(job.hears(Decided{GenerationNumber{4}}).empty());  // a process without workers has this
  CHECK(job.observer.generation() == GenerationNumber{4});
}

TEST_CASE("job observer: workers are killed, and ordered to stop, only while they live") {
  Observed job;
  CHECK(job.stop(0).empty());
  job.start_workers();
  CHECK(job.stop(2).empty());  // of another generation
  CHECK(job.stop(3) == "stop_ordered");
  CHECK(job.does(KillAll{}) == "workers_killed");
  CHECK(job.end(0) == "worker_ended");
  CHECK(job.does(KillAll{}) == "workers_killed");
  CHECK(job.end(1) == "worker_ended");
  CHECK(job.does(KillAll{}).empty());
  CHECK(job.stop(3).empty());
}

TEST_CASE("job observer: those who still live are named when they are killed") {
  Observed job;
  job.start_workers();
  (void)job.end(0);
  JobObserver::Events events;
  job.observer.on(AgentAction(KillAll{}), events);
  REQUIRE(events.size() == 1);
  const std::vector<LivingWorker> left{{LocalRank{1}, 71}};
  CHECK(std::get<WorkersKilled>(events.front()).workers == left);
}

TEST_CASE("job observer: what ends a node's part in a job is an event") {
  Observed job;
  CHECK(job.told(LeaseEnded{}) == "lease_ended");
  CHECK(job.told(LifeEnded{}) == "declared_lost");
  CHECK(job.told(GiveUp{}) == "gave_up");
  CHECK(job.told(SignalArrived{SIGTERM}) == "signal_received");
  CHECK(job.does(TellCoordinator{WorkersStuck{}}) == "workers_stuck");
  CHECK(job.does(TellCoordinator{WorkerFailed{}}).empty());
  for (const AgentEvent& event :
       {AgentEvent(Timeout{}), AgentEvent(AllGone{}), AgentEvent(StoreBound{})}) {
    CHECK(job.told(event).empty());
  }
}

TEST_CASE("job observer: a coordinator tells what it hears of nodes and failures") {
  Observed job;
  CHECK(job.hears(Join{}) == "node_joined");
  CHECK(job.hears(NodeLost{}) == "node_lost");
  CHECK(job.hears(WorkerFailed{}) == "worker_failed");
  CHECK(job.hears(StoreUnreachable{}) == "store_unreachable");
  CHECK(job.hears(StopRequested{}) == "stop_requested");
  CHECK(job.hears(WorkersStuck{}).empty());  // the node has told it
  CHECK(job.hears(Timeout{}).empty());
}

TEST_CASE("job observer: a wait ends where another begins, and says how long it was") {
  Observed job;
  const auto looks = [&](int at, Wait waits, bool coordinates) {
    return job.names(Instant{at}, Standing{waits, coordinates}, std::string("nodes"));
  };
  CHECK(looks(0, Wait::nothing, false).empty());
  CHECK(looks(10, Wait::coordinator, false) == "wait_began");
  CHECK(looks(20, Wait::coordinator, false).empty());
  CHECK(looks(30, Wait::nodes, true) == "coordination_started wait_ended wait_began");
  CHECK(looks(40, Wait::nothing, false) == "coordination_ended wait_ended");
  JobObserver::Events events;
  job.observer.on(Instant{50}, Standing{Wait::nodes, false}, std::string("n"), events);
  job.observer.on(Instant{70}, Standing{Wait::voters, false}, std::string("v"), events);
  REQUIRE(events.size() == 3);
  CHECK(std::get<WaitEnded>(events.at(1)).waited == Millis{20});
  CHECK(std::get<WaitBegan>(events.at(2)).text == "v");
}

}  // namespace
}  // namespace ddprun
