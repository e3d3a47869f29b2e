// The coordinator where a member cannot use the generation's store.
#include "rendezvous/coordinator.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {
namespace {

/// A job of one node with a budget, whose newest generation has that number and runs.
struct Unmet {
  Coordinator coordinator{CoordinatorOptions{.restarts = {.count_max = 9}}};
  std::int64_t number = 0;

  std::vector<CoordinatorAction> meets(const CoordinatorEvent& event) {
    std::vector<CoordinatorAction> actions;
    coordinator.on_event({}, event, actions);
    return actions;
  }
  std::vector<CoordinatorAction> joins() {
    return meets(Join{{NodeId{0}, "n0", "10.0.0.1", 4000, 2}, GenerationNumber{number}});
  }
  void runs_next() {
    if (number > 0) {
      const WorkerFailure failure{"n0", Rank{1}, LocalRank{1}, 71, {WorkerEnd::Kind::exited, 3}};
      meets(WorkerFailed{GenerationNumber{number}, failure});
    }
    joins();
    ++number;
  }
  std::vector<CoordinatorAction> cannot_reach(std::int64_t generation) {
    return meets(StoreUnreachable{GenerationNumber{generation}, "n2", "Connection timed out"});
  }
};

using Actions = std::vector<CoordinatorAction>;

TEST_CASE("coordinator: C4 a store that cannot be reached ends the job, whatever the budget") {
  for (const int status : {69, 75}) {
    Unmet job;
    job.runs_next();
    if (status == 75) job.runs_next();  // workers have met before
    const GenerationNumber number{job.number};
    CHECK(job.cannot_reach(job.number) ==
          Actions{StopGeneration{NodeId{0}, number, SIGTERM, Millis{1'000}}});
    CHECK(job.cannot_reach(job.number).empty());
    const Outcome outcome{status,
                          "n2 cannot reach the workers' store of n0 at 10.0.0.1:4000 (Connection "
                          "timed out): check --advertise, --interface and firewalls",
                          {}};
    CHECK(job.joins() == Actions{FinishJob{NodeId{0}, outcome}});
  }
}

TEST_CASE("coordinator: what is said of another generation's store changes nothing") {
  Unmet job;
  CHECK(job.cannot_reach(0).empty());
  job.runs_next();
  CHECK(job.cannot_reach(2).empty());
  job.runs_next();
  CHECK(job.cannot_reach(1).empty());
}

}  // namespace
}  // namespace ddprun
