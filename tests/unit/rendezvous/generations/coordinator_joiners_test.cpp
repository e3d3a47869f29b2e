#include "rendezvous/generations/coordinator.hpp"
#include "tests/unit/rendezvous/generations/coordinator_kit.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <cstdint>
#include <optional>

namespace ddprun {
namespace {

using namespace job_story;

/// Two nodes run the first generation, and one more has room.
struct JoinersStory : JobStory {
  JoinersStory() : JobStory(options()) {
    (void)joins(0);
    (void)joins(1);
    (void)waits(Millis{0});
  }
  static CoordinatorOptions options() {
    CoordinatorOptions made;
    made.join_policy = JoinPolicy::snapshot;
    made.gathering = {.nodes_min = 2, .nodes_max = 3, .last_call = Millis{0}};
    made.restarts.count_max = 1;
    made.grace = Millis{10'000};
    made.restart_grace = Millis{1'000};
    made.save_patience = Millis{120'000};
    return made;
  }
  Actions saves(int node, std::int64_t step, std::int64_t number = 1) {
    return meets(SaveReported{NodeId{node}, GenerationNumber{number}, step});
  }
  Actions cannot_save(int node) {
    return meets(SaveReported{NodeId{node}, GenerationNumber{1}, std::nullopt});
  }
};

Actions both_save() {
  return {SaveGeneration{NodeId{0}, GenerationNumber{1}},
          SaveGeneration{NodeId{1}, GenerationNumber{1}}};
}

Actions both_stop(Millis grace) {
  return {stop(1, SIGTERM, grace, 0), stop(1, SIGTERM, grace, 1)};
}

Actions after_step(std::int64_t step, Millis grace) {
  Actions actions{Note{fmt::format("step {} is saved", step)}};
  for (const CoordinatorAction& each : both_stop(grace)) actions.push_back(each);
  return actions;
}

TEST_CASE("coordinator: a generation saves before it ends for a node that joined") {
  JoinersStory job;
  CHECK(job.joins(2) == both_save());
  CHECK(job.coordinator.next_deadline() == job.now + Millis{120'000});
  CHECK(job.saves(1, 70) == after_step(70, Millis{1'000}));
  CHECK(job.joins(0, 1).empty());
  const Actions next = job.joins(1, 1);
  CHECK(members_of(next) == std::vector{0, 1, 2});
  CHECK(std::get<StartGeneration>(next.back()).part.cause == "n2 joined");
}

TEST_CASE("coordinator: workers that are stopped have twice the time that a snapshot took") {
  JoinersStory job;
  (void)job.joins(2);
  job.now = job.now + Millis{3'000};
  CHECK(job.saves(0, 70) == after_step(70, Millis{6'000}));

  JoinersStory slow;
  (void)slow.joins(2);
  slow.now = slow.now + Millis{60'000};
  CHECK(slow.saves(0, 70) == after_step(70, Millis{10'000}));
}

TEST_CASE("coordinator: where no worker can be asked to save nobody waits") {
  JoinersStory job;
  (void)job.joins(2);
  CHECK(job.cannot_save(1).empty());
  CHECK(job.cannot_save(1).empty());  // a node counts once
  CHECK(job.cannot_save(0) == both_stop(Millis{1'000}));
  CHECK(job.saves(0, 70).empty());
}

TEST_CASE("coordinator: the wait for a snapshot is bounded, and ends with a line") {
  JoinersStory job;
  (void)job.joins(2);
  (void)job.cannot_save(1);
  job.now = job.now + Millis{119'999};
  CHECK(job.meets(Timeout{}).empty());
  job.now = job.now + Millis{1};
  Actions expected{
      Note{"no worker has saved within 120 s of being asked: generation 1 ends without "
           "a new snapshot"}};
  for (const CoordinatorAction& each : both_stop(Millis{10'000})) expected.push_back(each);
  CHECK(job.meets(Timeout{}) == expected);
  CHECK_FALSE(job.coordinator.next_deadline());
}

TEST_CASE("coordinator: a generation goes on if who joined is lost before it has saved") {
  JoinersStory job;
  (void)job.joins(2);
  (void)job.loses(2);
  CHECK(job.saves(0, 70).empty());
  CHECK_FALSE(job.coordinator.next_deadline());
  CHECK(job.joins(5) == both_save());  // for the next one they save once more
}

TEST_CASE("coordinator: what ends the generation meanwhile does not wait for a snapshot") {
  JoinersStory job;
  (void)job.joins(2);
  (void)job.fails(1, 0, exited(3));
  CHECK_FALSE(job.coordinator.next_deadline());
  CHECK(job.saves(0, 70).empty());
  CHECK(job.joins(0, 1).empty());
  CHECK(members_of(job.joins(1, 1)) == std::vector{0, 1, 2});
  CHECK(job.saves(0, 70, 1).empty());  // of the one before
}

}  // namespace
}  // namespace ddprun
