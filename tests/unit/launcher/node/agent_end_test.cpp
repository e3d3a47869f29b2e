// The agent once its workers have ended, or cannot: what it sees of their work, and what is stuck.
#include "tests/unit/launcher/node/agent_kit.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <string>

namespace ddprun {
namespace {

using namespace agent_story;

/// One that sees snapshots, whose generation 1 has just ended.
OneNode node_after_its_workers() {
  OneNode node = running_node({.sees_snapshots = true});
  (void)node.is_stopped(1, SIGTERM, Millis{0});
  CHECK(node.meets(AllGone{}) == Lines{"close the store", "look at the snapshot", "bind a store"});
  return node;
}
const std::string second_join =
    "tell: join of node 1 n1 10.0.0.2:4002 with 2 workers, done with generation 1";

TEST_CASE("agent: with its next offer it tells the newest snapshot that it sees") {
  OneNode node = node_after_its_workers();
  CHECK(node.store_opens().empty());
  CHECK(node.agent.next_deadline() == Instant{200});
  CHECK(node.meets(SnapshotSeen{SnapshotPosition{3, 40, 5}}) ==
        Lines{second_join + ", sees snapshot 3.40"});
  CHECK_FALSE(node.agent.next_deadline());
  CHECK(node.meets(LifeEnded{}) == Lines{second_join + ", sees snapshot 3.40"});
  OneNode other = node_after_its_workers();
  CHECK(other.meets(SnapshotSeen{SnapshotPosition{3, 40, 5}}).empty());
  CHECK(other.store_opens() == Lines{second_join + ", sees snapshot 3.40"});
}

TEST_CASE("agent: a filesystem that stalls does not hold up the next offer") {
  OneNode node = node_after_its_workers();
  (void)node.store_opens();
  CHECK(node.after(Millis{199}).empty());
  CHECK(node.after(Millis{1}) == Lines{second_join});
  const Agent before = node.agent;
  CHECK(node.meets(SnapshotSeen{SnapshotPosition{3, 40, 5}}).empty());
  CHECK(node.agent == before);
  OneNode slow_store = node_after_its_workers();
  CHECK(slow_store.after(Millis{200}).empty());
  CHECK_FALSE(slow_store.agent.next_deadline());
  CHECK(slow_store.store_opens() == Lines{second_join});
}

TEST_CASE("agent: what cannot be told is not told") {
  OneNode node = node_after_its_workers();
  (void)node.store_opens();
  CHECK(node.meets(SnapshotSeen{}) == Lines{second_join});
}

TEST_CASE("agent: A5 the end is heeded between what was stuck and the next offer") {
  const FinishJob finish{NodeId{1}, {140, "left", {}}, true};
  OneNode node = running_node({.sees_snapshots = true});
  (void)node.is_stopped(1, SIGTERM, Millis{0});
  (void)node.after(Millis{5'000});
  (void)node.meets(AllGone{});
  OneNode bound = node;
  CHECK(node.meets(finish) == Lines{"exit with status 140: left"});
  CHECK(node.store_opens().empty());
  CHECK_FALSE(node.agent.next_deadline());
  CHECK(bound.store_opens().empty());  // the snapshot is looked for
  CHECK(bound.meets(finish) == Lines{"close the store", "exit with status 140: left"});
  CHECK(bound.meets(SnapshotSeen{}).empty());
}

TEST_CASE("agent: a node whose program never ran says so at the job's success") {
  const FinishJob success{NodeId{1}, {}, false};
  const std::string said =
      "note: no worker ran here: the job ended before it needed this node; if this was to be "
      "another job, give it an --rdzv-id and a port of its own";
  OneNode spare((AgentOptions()));
  (void)spare.store_opens();
  CHECK(spare.meets(success) == Lines{"close the store", said, "exit with status 0: "});
  OneNode other = node_after_its_workers();
  (void)other.store_opens();
  (void)other.meets(SnapshotSeen{});
  CHECK(other.meets(success) == Lines{"close the store", "exit with status 0: "});
  OneNode stopped((AgentOptions()));  // before it was told to start
  (void)stopped.store_opens();
  (void)stopped.is_stopped(1, SIGTERM, Millis{0});
  (void)stopped.store_opens();
  CHECK(stopped.meets(success) == Lines{"close the store", said, "exit with status 0: "});
  OneNode refused((AgentOptions()));
  (void)refused.store_opens();
  CHECK(refused.meets(FinishJob{NodeId{1}, {1, "rank 0 exited", {}}}).size() == 2);
  OneNode left((AgentOptions()));
  (void)left.store_opens();
  CHECK(left.meets(FinishJob{NodeId{1}, {}, true}).size() == 2);
  OneNode witness({.witness = true});
  CHECK(witness.meets(success) == Lines{"exit with status 0: "});
}

TEST_CASE("agent: A4 the store outlives what SIGKILL could not end, which is told") {
  OneNode node = running_node();
  (void)node.is_stopped(1, SIGTERM, Millis{0});
  CHECK(node.agent.next_deadline() == Instant{5'000});
  CHECK(node.after(Millis{4'999}).empty());
  CHECK(node.after(Millis{1}) == Lines{"need no lease", told_stuck});
  CHECK_FALSE(node.agent.next_deadline());
  CHECK(node.starts(2).empty());  // A1
  CHECK(node.ends(0, killed(SIGKILL)).empty());
  CHECK(node.meets(LifeEnded{}) ==
        Lines{"need no lease",
              "tell: node 1 is stuck with generation 1: rank 3 of generation 1 on n1: still there "
              "5 s after SIGKILL, stuck inside the kernel, on a device or a file system"});
  CHECK(node.meets(AllGone{}) == Lines{"close the store", "bind a store"});
  CHECK(node.store_opens() == Lines{second_join});
}

TEST_CASE("agent: what is stuck is named by its ranks, eight at most, or as their descendants") {
  const auto who = [](int worker_count, int ended_count) {
    OneNode node;
    (void)node.store_opens();
    Part all = part(1);
    all.worker_count = worker_count;
    (void)node.meets(StartGeneration{NodeId{1}, all});
    for (int rank = 0; rank < ended_count; ++rank) (void)node.ends(rank, exited(0));
    (void)node.is_stopped(1, SIGTERM, Millis{0});
    const std::string told = node.after(Millis{5'000}).back();
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
    OneNode node = running_node();
    (void)node.is_stopped(1, SIGTERM, Millis{0});
    (void)node.meets(event);
    CHECK(node.after(Millis{5'000}) == Lines{"exit with status 71: " + both_stuck});
  }
}

TEST_CASE("agent: a node says why its workers stop, once, and that it waits for others so long") {
  OneNode node = running_node();
  const std::string why = "rank 0 (pid 41 on n0) exited with 3, restart 1 of 3 follows";
  CHECK(node.is_stopped(1, SIGTERM, Millis{9'000}, why) ==
        Lines{"note: " + why + "; stopping 2 workers here", "signal SIGTERM (15)"});
  CHECK(node.agent.waits_for(node.now) == "rank 2, 3 to end, or SIGKILL in 9 s; " + why);
  CHECK(node.is_stopped(1, SIGTERM, Millis{9'000}, why) == Lines{"signal SIGTERM (15)"});
  for (const int local_rank : {0, 1}) (void)node.ends(local_rank, killed(SIGTERM));
  (void)node.meets(AllGone{});
  (void)node.store_opens();
  REQUIRE(node.agent.has_joined());
  CHECK(node.agent.waits_for(node.now) ==
        "the coordinator to start a generation with this node; " + why);
  (void)node.starts(2);
  CHECK(node.is_stopped(2, SIGTERM, Millis{9'000}, "n3 joined").size() == 2);
}

TEST_CASE("agent: a node whose workers have all ended still says why the others stop") {
  OneNode node = running_node();
  for (const int local_rank : {0, 1}) (void)node.ends(local_rank, {WorkerEnd::Kind::exited, 3});
  CHECK(node.is_stopped(1, SIGTERM, Millis{9'000}, "rank 2 has failed") ==
        Lines{"note: rank 2 has failed", "kill all"});
}

TEST_CASE("agent: who has asked for the end is not told of it, others are, and of a kill as well") {
  OneNode asked = running_node();
  (void)asked.gets(SIGINT);
  CHECK(asked.is_stopped(1, SIGINT, Millis{9'000}, "stopped by SIGINT (2)") ==
        Lines{"signal SIGINT (2)"});
  OneNode other = running_node();
  CHECK(other.is_stopped(1, SIGINT, Millis{9'000}, "stopped by SIGINT (2)").front() ==
        "note: stopped by SIGINT (2); stopping 2 workers here");
  CHECK(other.is_stopped(1, SIGINT, Millis{0}, "stopped by SIGINT (2)") ==
        Lines{"note: stopped by SIGINT (2); killing 2 workers here", "kill all"});
}

TEST_CASE("agent: ctrl-C while others still stop is acknowledged") {
  OneNode node = running_node();
  (void)node.is_stopped(1, SIGTERM, Millis{9'000}, "n3 was lost");
  for (const int local_rank : {0, 1}) (void)node.ends(local_rank, killed(SIGTERM));
  (void)node.meets(AllGone{});
  (void)node.store_opens();
  CHECK(node.gets(SIGINT) == told_stop_int);
}

}  // namespace
}  // namespace ddprun
