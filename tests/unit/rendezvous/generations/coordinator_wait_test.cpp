// What people can be told while nothing moves, and of a failure.
#include "tests/unit/rendezvous/generations/coordinator_kit.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("coordinator: a failure is told at once, with how many are stopped for it") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 2}});
  (void)job.joins(0);
  (void)job.joins(1);
  (void)job.succeeds(1, 0);
  const Actions told = job.meets(
      WorkerFailed{GenerationNumber{1}, JobStory::failure(3, {WorkerEnd::Kind::exited, 3})});
  REQUIRE(told.size() == 3);
  CHECK(told.front() == CoordinatorAction(Note{
                            "rank 3 (pid 73 on n0) exited with 3; stopping the other 2 workers"}));
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
