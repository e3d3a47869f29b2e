// The agent once its workers have ended, or cannot: what it sees of their work, and what is stuck.
#include "tests/unit/launcher/node/agent_kit.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <string>

namespace ddprun {
namespace {

using namespace agent_story;

/// One that sees snapshots, whose generation 1 has just ended.
Node node_after_its_workers() {
  Node node = running_node({.sees_snapshots = true});
  (void)node.is_stopped(1, SIGTERM, Millis{0});
  CHECK(node.meets(AllGone{}) == Lines{"close the store", "look at the snapshot", "bind a store"});
  return node;
}
const std::string second_join =
    "tell: join of node 1 n1 10.0.0.2:4002 with 2 workers, done with generation 1";

TEST_CASE("agent: with its next offer it tells the newest snapshot that it sees") {
  Node node = node_after_its_workers();
  CHECK(node.store_opens().empty());
  CHECK(node.agent.next_deadline() == Instant{200});
  CHECK(node.meets(SnapshotSeen{SnapshotPosition{3, 40, 5}}) ==
        Lines{second_join + ", sees snapshot 3.40"});
  CHECK_FALSE(node.agent.next_deadline());
  CHECK(node.meets(LifeEnded{}) == Lines{second_join + ", sees snapshot 3.40"});
  Node other = node_after_its_workers();
  CHECK(other.meets(SnapshotSeen{SnapshotPosition{3, 40, 5}}).empty());
  CHECK(other.store_opens() == Lines{second_join + ", sees snapshot 3.40"});
}

TEST_CASE("agent: a filesystem that stalls does not hold up the next offer") {
  Node node = node_after_its_workers();
  (void)node.store_opens();
  CHECK(node.after(Millis{199}).empty());
  CHECK(node.after(Millis{1}) == Lines{second_join});
  const Agent before = node.agent;
  CHECK(node.meets(SnapshotSeen{SnapshotPosition{3, 40, 5}}).empty());
  CHECK(node.agent == before);
  Node slow_store = node_after_its_workers();
  CHECK(slow_store.after(Millis{200}).empty());
  CHECK_FALSE(slow_store.agent.next_deadline());
  CHECK(slow_store.store_opens() == Lines{second_join});
}

TEST_CASE("agent: what cannot be told is not told") {
  Node node = node_after_its_workers();
  (void)node.store_opens();
  CHECK(node.meets(SnapshotSeen{}) == Lines{second_join});
}

TEST_CASE("agent: A4 the store outlives what SIGKILL could not end, which is told") {
  Node node = running_node();
  (void)node.is_stopped(1, SIGTERM, Millis{0});
  CHECK(node.agent.next_deadline() == Instant{5'000});
  CHECK(node.after(Millis{4'999}).empty());
  CHECK(node.after(Millis{1}) == Lines{told_stuck});
  CHECK_FALSE(node.agent.next_deadline());
  CHECK(node.starts(2).empty());  // A1
  CHECK(node.ends(0, killed(SIGKILL)).empty());
  CHECK(node.meets(LifeEnded{}) ==
        Lines{"tell: node 1 is stuck with generation 1: rank 3 of generation 1 on n1: still there "
              "5 s after SIGKILL, stuck inside the kernel, on a device or a file system"});
  CHECK(node.meets(AllGone{}) == Lines{"close the store", "bind a store"});
  CHECK(node.store_opens() == Lines{second_join});
}

TEST_CASE("agent: what is stuck is named by its ranks, eight at most, or as their descendants") {
  const auto who = [](int worker_count, int ended_count) {
    Node node;
    (void)node.store_opens();
    Part all = part(1);
    all.worker_count = worker_count;
    (void)node.meets(StartGeneration{NodeId{1}, all});
    for (int rank = 0; rank < ended_count; ++rank) (void)node.ends(rank, exited(0));
    (void)node.is_stopped(1, SIGTERM, Millis{0});
    const std::string told = node.after(Millis{5'000}).at(0);
    return told.substr(0, told.find(" of generation 1 on"));
  };
  const std::string stuck = "tell: node 1 is stuck with generation 1: ";
  CHECK(who(8, 0) == stuck + "rank 2, 3, 4, 5, 6, 7, 8, 9");
  CHECK(who(10, 0) == stuck + "rank 2, 3, 4, 5, 6, 7, 8, 9 and 2 more");
  CHECK(who(2, 2) == stuck + "processes that workers have started");
}

TEST_CASE("agent: without a coordinator or a guard nobody waits for what is stuck") {
  for (const AgentEvent& event :
       {AgentEvent(GuardLost{}), AgentEvent(GiveUp{Outcome{75, "alone", {}}})}) {
    Node node = running_node();
    (void)node.is_stopped(1, SIGTERM, Millis{0});
    (void)node.meets(event);
    CHECK(node.after(Millis{5'000}) == Lines{"exit with status 71: " + both_stuck});
  }
}

}  // namespace
}  // namespace ddprun
