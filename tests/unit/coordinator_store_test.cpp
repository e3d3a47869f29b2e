// The coordinator where a member cannot use the generation's store.
#include "rendezvous/coordinator.hpp"
#include "tests/unit/coordinator_kit.hpp"

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
    return meets(StoreUnreachable{NodeId{0}, GenerationNumber{generation}, "Connection timed out"});
  }
};

using namespace job_story;

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
                          "n0 cannot reach the workers' store of n0 at 10.0.0.1:4000 (Connection "
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

// Of two to four nodes, 0 and 1 have met in generation 1; node 2 joins them in generation 2.

Actions complains(JobStory& job, int node, std::int64_t number) {
  return job.meets(StoreUnreachable{NodeId{node}, GenerationNumber{number}, "timed out"});
}
JobStory joined_by_two() {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 4, .last_call = Millis{100}}});
  for (const int node : {0, 1}) (void)job.joins(node);
  (void)job.waits(Millis{100});
  (void)job.joins(2);
  (void)job.waits(Millis{100});
  for (const int node : {0, 1}) (void)job.joins(node, 1);
  return job;
}
const std::string wall{
    "n2 cannot reach the workers' store of n0 at 10.0.0.1:4000 (timed out): check --advertise, "
    "--interface and firewalls"};
constexpr Millis grace{1'000};

TEST_CASE("coordinator: who joins others that have met, and cannot reach them, is set aside") {
  JobStory job = joined_by_two();
  CHECK(complains(job, 2, 2) == Actions{Note{wall + "; the node is set aside"},
                                        stop(2, SIGTERM, grace, 0),
                                        stop(2, SIGTERM, grace, 1),
                                        stop(2, SIGTERM, grace, 2)});
  for (const int node : {2, 0}) CHECK(job.joins(node, 2).empty());
  const Actions next = job.joins(1, 2);
  CHECK(members_of(next) == std::vector{0, 1});
  CHECK(cause_of(next) == wall);
  CHECK_FALSE(job.coordinator.next_deadline());  // its being there ends no generation
}

TEST_CASE("coordinator: C4 who joins and cannot reach the others spends no budget") {
  JobStory job = joined_by_two();
  (void)complains(job, 2, 2);
  (void)job.fails(2, 4, {WorkerEnd::Kind::exited, 1});  // which could not, either
  for (const int node : {2, 0}) (void)job.joins(node, 2);
  CHECK(members_of(job.joins(1, 2)) == std::vector{0, 1});
}

TEST_CASE("coordinator: one of those that have met, and no longer reaches them, ends the job") {
  JobStory job = joined_by_two();
  const Actions stops = complains(job, 1, 2);
  CHECK(stops.size() == 3);
  CHECK(stops.front() == CoordinatorAction(stop(2, SIGTERM, grace, 0)));
}

TEST_CASE("coordinator: progress that is seen after the complaint is the others'") {
  JobStory job = joined_by_two();
  (void)complains(job, 2, 2);
  Actions next;
  for (const int node : {2, 0, 1}) {
    next = job.meets(Join{offer_of(node), GenerationNumber{2}, SnapshotPosition{1, 9, 9}});
  }
  CHECK(members_of(next) == std::vector{0, 1});
}

TEST_CASE("coordinator: who has made progress with the others is no newcomer any more") {
  JobStory job = joined_by_two();
  (void)job.meets(NodeLost{NodeId{1}, "silent for 4 s"});
  for (const int node : {0, 2}) {
    (void)job.meets(Join{offer_of(node), GenerationNumber{2}, SnapshotPosition{2, 1, 1}});
  }
  CHECK(complains(job, 2, 3).size() == 2);  // stops, and no note
}

TEST_CASE("coordinator: where the store is new, too, it may be its fault, and the job ends") {
  JobStory job = joined_by_two();
  (void)job.loses(0);
  (void)job.joins(1, 2);
  CHECK(members_of(job.joins(2, 2)) == std::vector{1, 2});
  CHECK(complains(job, 2, 3).size() == 2);
}

TEST_CASE("coordinator: where too few others are left nobody is set aside") {
  JobStory job = joined_by_two();
  (void)job.loses(1);
  (void)job.joins(0, 2);
  CHECK(members_of(job.joins(2, 2)) == std::vector{0, 2});
  CHECK(complains(job, 2, 3).size() == 2);
  (void)job.joins(0, 3);
  const Actions end = job.joins(2, 3);
  REQUIRE(end.size() == 2);
  CHECK(std::get<FinishJob>(end.front()).outcome == Outcome{75, wall, {}});
}

TEST_CASE("coordinator: a newcomer's complaint of a generation that is over changes nothing") {
  JobStory job = joined_by_two();
  CHECK(complains(job, 2, 1).empty());
  CHECK(complains(job, 3, 2).empty());  // no member
  (void)complains(job, 2, 2);
  CHECK(complains(job, 2, 2).empty());
}

}  // namespace
}  // namespace ddprun
