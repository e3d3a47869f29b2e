// What people can be told while nothing moves, and of a failure.
#include "tests/unit/rendezvous/generations/coordinator_kit.hpp"

#include <doctest/doctest.h>

#include <csignal>

namespace ddprun {
namespace {

using namespace job_story;

TEST_CASE("coordinator: what it cannot go on without") {
  CoordinatorOptions options;
  options.gathering = {.nodes_min = 2, .nodes_max = 2, .hosts = {"n0", "n1"}};
  options.restarts.count_max = 5;
  options.voters_decide = true;
  JobStory job(options);
  CHECK(job.coordinator.waits() == Wait::nodes);
  (void)job.joins(1);
  CHECK(job.coordinator.waits_for() == "nodes: 1 of 2 have joined: n1; not seen: n0");
  (void)job.joins(0);
  CHECK(job.coordinator.waits() == Wait::voters);
  CHECK(job.coordinator.waits_for() == "voters: 2 are to accept generation 1");
  (void)job.meets(Decided{GenerationNumber{1}});
  CHECK(job.coordinator.waits() == Wait::nothing);
  CHECK(job.coordinator.waits_for().empty());
  (void)job.fails(1, 3, exited(1));
  (void)job.joins(0, 1);
  CHECK(job.coordinator.waits() == Wait::workers);
  CHECK(job.coordinator.waits_for() == "workers to end on n1");
}

TEST_CASE("coordinator: all nodes are told why their workers stop, and whether a restart follows") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 2}, .restarts = {.count_max = 1}});
  for (const int node : {0, 1}) (void)job.joins(node);
  CHECK(job.fails(1, 3, exited(3)).size() == 2);
  CHECK(job.why == "rank 3 (pid 73 on n0) exited with 3, restart 1 of 1 follows");
  for (const int node : {0, 1}) (void)job.joins(node, 1);
  (void)job.loses(1);
  CHECK(job.why == "n1 was lost: silent for 4 s");
  (void)job.joins(0, 2);
  (void)job.joins(1);
  (void)job.fails(3, 3, exited(3));
  CHECK(job.why == "rank 3 (pid 73 on n0) exited with 3");
  (void)job.is_asked_to_stop({SIGINT});  // the job was to end anyway, for that failure
  CHECK(job.why == "rank 3 (pid 73 on n0) exited with 3, after 1 of 1 restarts");
}

TEST_CASE("coordinator: all nodes are told that somebody has stopped the job") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 2}});
  for (const int node : {0, 1}) (void)job.joins(node);
  CHECK(job.is_asked_to_stop({SIGINT}).size() == 2);
  CHECK(job.why == "stopped by SIGINT (2)");
}

TEST_CASE("coordinator: the pause before a restart is a wait") {
  JobStory job(
      {.restarts = {.count_max = 3, .wait_min = Millis{9'000}, .wait_max = Millis{9'000}}});
  (void)job.joins(0);
  (void)job.fails(1, 1, exited(3));
  (void)job.joins(0, 1);
  CHECK(job.coordinator.waits() == Wait::pause);
  CHECK(job.coordinator.waits_for() == "restart 1 of 3: rank 1 (pid 71 on n0) exited with 3");
  CHECK(members_of(job.waits(Millis{9'000})) == std::vector{0});
}

TEST_CASE("coordinator: a host name of two nodes is told once") {
  CoordinatorOptions options;
  options.gathering = {.nodes_min = 2, .nodes_max = 2};
  options.restarts.count_max = 5;
  JobStory job(options);
  const auto joins = [&](int node, std::int64_t done_with) {
    Offer offer = offer_of(node);
    offer.host = "n0";
    offer.address = "10.0.0." + std::to_string(node);
    return job.meets(Join{offer, GenerationNumber{done_with}});
  };
  (void)joins(0, 0);
  const Actions told = joins(1, 0);
  REQUIRE_FALSE(told.empty());
  const auto* note = std::get_if<Note>(&told.front());
  REQUIRE(note != nullptr);
  CHECK(note->text.starts_with("several nodes are called n0: "));
  (void)job.fails(1, 3, exited(1));
  (void)joins(0, 1);
  const Actions again = joins(1, 1);
  CHECK(members_of(again) == std::vector<int>{0, 1});
  CHECK(again.size() == 2);
}

}  // namespace
}  // namespace ddprun
