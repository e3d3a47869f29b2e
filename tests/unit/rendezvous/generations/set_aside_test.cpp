#include "rendezvous/generations/set_aside.hpp"

#include "tests/unit/rendezvous/generations/coordinator_kit.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

namespace ddprun {
namespace {

using namespace job_story;

SetAside blamed(int node, int failures_count) {
  SetAside aside;
  for (int i = 0; i < failures_count; ++i) aside.failed_first(NodeId{node});
  return aside;
}
Generation with_members(const std::vector<int>& nodes) {
  Generation generation;
  for (const int node : nodes) generation.members.push_back({offer_of(node), Rank{}});
  return generation;
}

TEST_CASE("set aside: a node is with its third first failure, others are not") {
  CHECK_FALSE(blamed(2, 2).contains(NodeId{2}));
  CHECK(blamed(2, 3).contains(NodeId{2}));
  CHECK_FALSE(blamed(2, 3).contains(NodeId{1}));
}

TEST_CASE("set aside: a node is where processes have outlived SIGKILL") {
  SetAside aside;
  aside.outlived_kill(NodeId{1});
  CHECK(aside.contains(NodeId{1}));
}

TEST_CASE("set aside: members of a generation that made progress begin anew") {
  SetAside aside = blamed(2, 3);
  aside.progressed(with_members({0, 1}));
  CHECK(aside.contains(NodeId{2}));
  aside.progressed(with_members({1, 2}));
  CHECK_FALSE(aside.contains(NodeId{2}));
  CHECK(aside == SetAside{});
}

TEST_CASE("set aside: that a node is left out is said once, with the reason") {
  SetAside aside = blamed(2, 4);
  const std::map<NodeId, Offer> ready{{NodeId{1}, offer_of(1)}, {NodeId{2}, offer_of(2)}};
  CHECK(aside.say(ready) == "n2 is set aside: workers there were 4 times the first to fail");
  CHECK(aside.say(ready).empty());
  CHECK(SetAside{}.say(ready).empty());
}

TEST_CASE("set aside: all of it goes to the next coordinator") {
  SetAside aside = blamed(2, 3);
  aside.failed_first(NodeId{1});
  aside.outlived_kill(NodeId{0});
  Generation last;
  last.blames = aside.record();
  CHECK(last.blames ==
        std::vector<Blame>{{NodeId{0}, 0, true}, {NodeId{1}, 1, false}, {NodeId{2}, 3, false}});
  CHECK(SetAside(last).record() == last.blames);
}

TEST_CASE("set aside: more nodes than are remembered change nothing") {
  SetAside aside;
  const auto count = static_cast<int>(SetAside::remembered_max);
  for (int node = 0; node < count; ++node) aside.failed_first(NodeId{node});
  const SetAside before = aside;
  aside.failed_first(NodeId{count});
  CHECK(aside == before);
  for (int i = 0; i < 2; ++i) aside.failed_first(NodeId{0});
  CHECK(aside.contains(NodeId{0}));
}

// How the coordinator goes by it: of two to three nodes, ranks 4 and 5 are on node 2.

JobStory three_nodes(int nodes_min = 2) {
  JobStory job(
      {.gathering = {.nodes_min = nodes_min, .nodes_max = 3}, .restarts = {.count_max = 9}});
  for (const int node : {0, 1, 2}) (void)job.joins(node);
  return job;
}
/// The generation fails first on node 2; all of `nodes` join again.
Actions fails_on_two(JobStory& job,
                     std::int64_t number,
                     const std::vector<int>& nodes = {0, 1, 2},
                     WorkerEnd end = exited(1)) {
  (void)job.fails(number, 4, end);
  Actions next;
  for (const int node : nodes) next = job.joins(node, number);
  return next;
}
/// Generation 4 is about to start without node 2.
JobStory with_two_set_aside() {
  JobStory job = three_nodes();
  for (std::int64_t number = 1; number <= 3; ++number) (void)fails_on_two(job, number);
  return job;
}

TEST_CASE("coordinator: a node that fails first three times is set aside, and that is said") {
  JobStory job = three_nodes();
  CHECK(members_of(fails_on_two(job, 1)) == std::vector{0, 1, 2});
  CHECK(members_of(fails_on_two(job, 2)) == std::vector{0, 1, 2});
  const Actions fourth = fails_on_two(job, 3);
  CHECK(members_of(fourth) == std::vector{0, 1});
  CHECK(fourth.front() ==
        CoordinatorAction(Note{"n2 is set aside: workers there were 3 times the first to fail"}));
}

TEST_CASE("coordinator: nobody is set aside for workers that hang, which may wait for others") {
  JobStory job = three_nodes();
  const WorkerEnd hung{WorkerEnd::Kind::hung, 1'000};
  for (std::int64_t number = 1; number <= 5; ++number) {
    CHECK(members_of(fails_on_two(job, number, {0, 1, 2}, hung)) == std::vector{0, 1, 2});
  }
}

TEST_CASE("coordinator: who is set aside ends no generation by being there") {
  JobStory job = with_two_set_aside();
  CHECK_FALSE(job.coordinator.next_deadline());
  CHECK(job.joins(2, 3).empty());
  CHECK_FALSE(job.coordinator.next_deadline());
  CHECK(job.joins(5).size() == 2);  // another one does
  (void)job.joins(0, 4);
  const Actions next = job.joins(1, 4);
  CHECK(members_of(next) == std::vector{0, 1, 5});
  CHECK(cause_of(next) == "n5 joined");
}

TEST_CASE("coordinator: who is set aside is a spare of last resort, and told how the job ends") {
  JobStory job = with_two_set_aside();
  (void)job.loses(1);
  JobStory asked = job;
  CHECK(members_of(job.joins(0, 4)) == std::vector{0, 2});
  (void)asked.is_asked_to_stop({SIGINT});
  CHECK(asked.joins(0, 4).size() == 2);
}

TEST_CASE("coordinator: nobody is set aside where all are needed") {
  JobStory job = three_nodes(3);
  for (std::int64_t number = 1; number <= 5; ++number) {
    const Actions next = fails_on_two(job, number);
    CHECK(members_of(next) == std::vector{0, 1, 2});
    CHECK(next.size() == 3);
  }
}

TEST_CASE("coordinator: progress forgives a node its failures") {
  JobStory job = three_nodes();
  (void)fails_on_two(job, 1);
  (void)fails_on_two(job, 2);
  (void)job.fails(3, 4, exited(1));
  for (const int node : {0, 1, 2}) {
    const SnapshotPosition seen{node == 0 ? 1 : 2, 0, 0};
    (void)job.meets(Join{offer_of(node), GenerationNumber{3}, seen});
  }
  CHECK_FALSE(job.coordinator.set_aside().contains(NodeId{2}));
  CHECK(members_of(fails_on_two(job, 4)) == std::vector{0, 1, 2});
}

TEST_CASE("coordinator: failures that a lost node makes are nobody's fault") {
  JobStory job = three_nodes();
  (void)fails_on_two(job, 1);
  (void)fails_on_two(job, 2);
  (void)job.fails(3, 4, exited(1));
  (void)job.loses(1);
  (void)job.joins(0, 3);
  CHECK(members_of(job.joins(2, 3)) == std::vector{0, 2});
  CHECK_FALSE(job.coordinator.set_aside().contains(NodeId{2}));
}

TEST_CASE("coordinator: another coordinator leaves out whom the last one has set aside") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 3}, .restarts = {.count_max = 9}});
  Generation record = with_members({0, 1, 2});
  record.number = GenerationNumber{7};
  record.blames = {{NodeId{2}, 3, false}};
  job.coordinator = Coordinator({.gathering = {.nodes_min = 2, .nodes_max = 3}}, record, {}, "why");
  for (const int node : {0, 1}) (void)job.joins(node, 7);
  CHECK(members_of(job.joins(2, 7)) == std::vector{0, 1});
}

// Processes that outlive SIGKILL.

Actions is_stuck(JobStory& job, int node, std::int64_t number) {
  return job.meets(WorkersStuck{NodeId{node}, GenerationNumber{number}, "rank 4 is stuck"});
}
const Note stuck_note{"rank 4 is stuck; the node is set aside"};

TEST_CASE("coordinator: C1 what is stuck in the kernel is not waited for, and its node set aside") {
  JobStory job = three_nodes();
  (void)job.fails(1, 0, exited(1));
  (void)job.joins(0, 1);
  (void)job.joins(1, 1);
  const Actions next = is_stuck(job, 2, 1);
  CHECK(next.front() == CoordinatorAction(stuck_note));
  CHECK(members_of(next) == std::vector{0, 1});
  CHECK(is_stuck(job, 2, 1).empty());  // said again in another life
  CHECK(job.joins(2, 1).empty());      // gone at last: a spare of last resort
  CHECK_FALSE(job.coordinator.next_deadline());
  (void)job.loses(1);
  CHECK(members_of(job.joins(0, 2)) == std::vector{0, 2});
}

TEST_CASE("coordinator: C6 a node that is stuck is told how the job ends") {
  JobStory job = three_nodes();
  (void)job.is_asked_to_stop({SIGINT});
  (void)job.joins(0, 1);
  (void)is_stuck(job, 2, 1);
  const Outcome stopped{130, "stopped by SIGINT (2)", {}};
  CHECK(job.joins(1, 1) == Actions{finish(stopped, 0), finish(stopped, 1), finish(stopped, 2)});
  CHECK(is_stuck(job, 2, 1) == Actions{finish(stopped, 2)});
}

TEST_CASE("coordinator: a stuck node that is lost is told nothing") {
  JobStory job = three_nodes();
  (void)job.is_asked_to_stop({SIGINT});
  (void)is_stuck(job, 2, 1);
  (void)job.loses(2);
  (void)job.joins(0, 1);
  CHECK(job.joins(1, 1).size() == 2);
}

TEST_CASE("coordinator: a member that was cut off and is stuck ends the generation") {
  JobStory job = three_nodes();
  CHECK(is_stuck(job, 2, 1) == Actions{stuck_note,
                                       stop(1, SIGTERM, Millis{1'000}, 0),
                                       stop(1, SIGTERM, Millis{1'000}, 1)});
  (void)job.joins(0, 1);
  const Actions next = job.joins(1, 1);
  CHECK(members_of(next) == std::vector{0, 1});
  CHECK(cause_of(next) == "rank 4 is stuck");
}

TEST_CASE("coordinator: stuck processes of an older generation say nothing of a member") {
  JobStory job = three_nodes();
  (void)fails_on_two(job, 1);
  const Coordinator before = job.coordinator;
  CHECK(is_stuck(job, 2, 1).empty());
  CHECK(job.coordinator == before);
}

TEST_CASE("coordinator: with too few others it waits for the stuck ones, and ends in good order") {
  JobStory job = three_nodes(3);
  (void)job.fails(1, 0, exited(1));
  (void)job.joins(0, 1);
  (void)is_stuck(job, 2, 1);
  (void)job.joins(1, 1);
  JobStory gone = job;
  CHECK(members_of(gone.joins(2, 1)) == std::vector{0, 1, 2});
  const Actions end = job.waits(Millis{30'000});
  REQUIRE(end.size() == 3);
  CHECK(std::get<FinishJob>(end[0]).outcome.exit_status == 75);
}

TEST_CASE("coordinator: who inherits a generation does not wait for what is stuck either") {
  JobStory job;
  Generation record = with_members({0, 1});
  record.number = GenerationNumber{7};
  job.coordinator = Coordinator({.gathering = {.nodes_max = 2}}, record, {}, "why");
  CHECK(is_stuck(job, 1, 7) == Actions{stuck_note});
  CHECK(members_of(job.joins(0, 7)) == std::vector{0});
}

}  // namespace
}  // namespace ddprun
