// The coordinator where a member cannot use the generation's store.
#include "rendezvous/generations/coordinator.hpp"
#include "tests/unit/rendezvous/generations/coordinator_kit.hpp"

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
    return meets(Join{{NodeId{0}, "n0", "fd00::1", 4000, 2}, GenerationNumber{number}});
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
    const Outcome outcome{status,
                          "n0 cannot reach the workers' store of n0 at [fd00::1]:4000 (Connection "
                          "timed out): check --advertise, --interface and firewalls",
                          {}};
    CHECK(job.cannot_reach(job.number) ==
          Actions{StopGeneration{NodeId{0},
                                 number,
                                 SIGTERM,
                                 Millis{1'000},
                                 "n0 cannot reach the workers' store of n0"}});
    CHECK(job.cannot_reach(job.number).empty());
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

struct Walled : JobStory {
  Walled() : JobStory({.gathering = {.nodes_min = 2, .nodes_max = 4, .last_call = Millis{100}}}) {
    for (const int node : {0, 1}) (void)joins_with(node, 0, 1);
    (void)waits(Millis{100});
    (void)joins_with(2, 0, 1);
    (void)waits(Millis{100});
    for (const int node : {0, 1}) (void)joins_with(node, 1, 1);
    CHECK(coordinator.state() == Coordinator::State::running);
  }

  /// Where the newest snapshot is of that step. Each node has an agent of its own.
  Actions joins_with(int node, std::int64_t done_with, std::int64_t step) {
    Join join{offer_of(node), GenerationNumber{done_with}, SnapshotPosition{1, step, step}};
    join.offer.agent = agents[static_cast<std::size_t>(node)];
    return meets(join);
  }
  /// That what is said ends the generation of that number without node 2.
  Actions ends_without_two(std::int64_t number, const std::vector<int>& nodes) {
    for (const int node : {2, nodes.front()}) CHECK(joins_with(node, number, 1).empty());
    Actions next;
    for (std::size_t i = 1; i < nodes.size(); ++i) next = joins_with(nodes[i], number, 1);
    return next;
  }
  Actions complains(int node, std::int64_t number) {
    return meets(StoreUnreachable{NodeId{node}, GenerationNumber{number}, "timed out"});
  }
  /// That the complaint ends the job.
  void expect_end_by(int node, std::int64_t number, const std::vector<int>& nodes) {
    const Actions stops = complains(node, number);
    CHECK(stops.size() == nodes.size());
    Actions end;
    for (const int each : nodes) end = joins_with(each, number, 9);
    CHECK(end.size() == nodes.size());
    CHECK(std::get<FinishJob>(end.at(0)).outcome.exit_status == 75);
  }

  std::vector<AgentId> agents{10, 11, 12, 13};
};
const std::string wall{"n2 cannot reach the workers' store of n0"};
const std::string at_wall{
    " at 10.0.0.1:4000 (timed out): check --advertise, --interface and firewalls"};

TEST_CASE("coordinator: who joins others that have met, and cannot reach them, is left out") {
  Walled job;
  constexpr Millis grace{1'000};
  CHECK(job.complains(2, 2) == Actions{Note{wall + at_wall + "; the node is left out"},
                                       stop(2, SIGTERM, grace, 0),
                                       stop(2, SIGTERM, grace, 1),
                                       stop(2, SIGTERM, grace, 2)});
  const Actions next = job.ends_without_two(2, {0, 1});
  CHECK(members_of(next) == std::vector{0, 1});
  CHECK(cause_of(next) == wall);
  CHECK(job.joins_with(2, 2, 1).empty());        // said again
  CHECK_FALSE(job.coordinator.next_deadline());  // its being there ends no generation
}

TEST_CASE("coordinator: C4 who joins and cannot reach the others spends no budget") {
  Walled job;
  (void)job.complains(2, 2);
  (void)job.fails(2, 4, {WorkerEnd::Kind::exited, 1});  // which could not, either
  CHECK(members_of(job.ends_without_two(2, {0, 1})) == std::vector{0, 1});
}

TEST_CASE("coordinator: C6 who is left out is told how the job ends") {
  Walled job;
  (void)job.complains(2, 2);
  (void)job.ends_without_two(2, {0, 1});
  (void)job.is_asked_to_stop({SIGINT});
  (void)job.joins_with(0, 3, 1);
  const Outcome stopped{130, "stopped by SIGINT (2)", {}};
  CHECK(job.joins_with(1, 3, 1) ==
        Actions{finish(stopped, 0), finish(stopped, 1), finish(stopped, 2)});
}

TEST_CASE("coordinator: who is left out is no spare: where too few are left the job waits") {
  Walled job;
  (void)job.complains(2, 2);
  (void)job.ends_without_two(2, {0, 1});
  (void)job.loses(1);
  const Actions waits = job.joins_with(0, 3, 1);
  CHECK(members_of(waits).empty());
  CHECK(members_of(job.joins_with(1, 0, 1)) == std::vector{0, 1});
}

TEST_CASE("coordinator: who is left out may try again when it was lost") {
  Walled job;
  (void)job.complains(2, 2);
  (void)job.ends_without_two(2, {0, 1});
  (void)job.loses(2);
  (void)job.joins_with(2, 2, 1);
  (void)job.waits(Millis{100});
  for (const int node : {0, 1}) (void)job.joins_with(node, 3, 1);
  CHECK(job.complains(2, 4).front() ==
        CoordinatorAction(Note{wall + at_wall + "; the node is left out"}));
}

TEST_CASE("coordinator: progress that is seen after the complaint brings nobody back") {
  Walled job;
  (void)job.complains(2, 2);
  (void)job.joins_with(2, 2, 2);
  (void)job.joins_with(0, 2, 2);
  CHECK(members_of(job.joins_with(1, 2, 2)) == std::vector{0, 1});
}

TEST_CASE("coordinator: a node with another agent than before is a newcomer") {
  Walled job;
  (void)job.loses(1);
  job.agents[1] = 99;
  for (const int node : {1, 0, 2}) (void)job.joins_with(node, 2, 1);
  const Actions said = job.complains(1, 3);
  CHECK(std::holds_alternative<Note>(said.front()));
}

TEST_CASE("coordinator: one of those that have met, and no longer reaches them, ends the job") {
  Walled job;
  job.expect_end_by(1, 2, {0, 1, 2});
}

TEST_CASE("coordinator: who has made progress with the others is no newcomer any more") {
  for (const std::int64_t step : {1, 2}) {  // none, and some
    CAPTURE(step);
    Walled job;
    (void)job.loses(1);
    for (const int node : {0, 2}) (void)job.joins_with(node, 2, step);
    (void)job.joins_with(1, 0, step);
    const bool is_out = std::holds_alternative<Note>(job.complains(2, 3).front());
    CHECK(is_out == (step == 1));
  }
}

TEST_CASE("coordinator: where the store is new, too, it may be its fault, and the job ends") {
  Walled job;
  (void)job.loses(0);
  for (const int node : {1, 2}) (void)job.joins_with(node, 2, 1);
  job.expect_end_by(2, 3, {1, 2});
}

TEST_CASE("coordinator: a newcomer's complaint of a generation that is over changes nothing") {
  Walled job;
  CHECK(job.complains(2, 1).empty());
  CHECK(job.complains(3, 2).empty());  // no member
  (void)job.complains(2, 2);
  CHECK(job.complains(2, 2).empty());
}

}  // namespace
}  // namespace ddprun
