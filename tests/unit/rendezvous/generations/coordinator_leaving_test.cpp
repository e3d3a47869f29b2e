#include "rendezvous/generations/coordinator.hpp"
#include "tests/unit/rendezvous/generations/coordinator_kit.hpp"

#include <doctest/doctest.h>

#include <csignal>

namespace ddprun {
namespace {

using namespace job_story;

/// Three nodes that run the first generation; two are enough.
struct LeavingStory : JobStory {
  LeavingStory() : JobStory(options()) {
    for (const int node : {0, 1, 2}) (void)joins(node);
  }
  static CoordinatorOptions options() {
    CoordinatorOptions made;
    made.gathering.nodes_min = 2;
    made.gathering.nodes_max = 3;
    return made;
  }
  Actions asks_to_leave(int node) { return meets(LeaveRequested{NodeId{node}, SIGTERM}); }
  Actions is_evicted(int node) { return meets(LeaveRequested{NodeId{node}, SIGTERM, true}); }
};

const LeaveRequested own_node_leaves{NodeId{0}, SIGUSR1, false, true};

Actions all_stop(int signal, Millis grace) {
  Actions stops;
  for (const int node : {0, 1, 2}) stops.emplace_back(stop(1, signal, grace, node));
  return stops;
}

FinishJob left(int node) {
  return {NodeId{node},
          {128 + SIGTERM, "stopped by SIGTERM (15); the job goes on without this node", {}},
          true};
}

TEST_CASE("coordinator: a node that leaves stops with all, and ends as the others go on") {
  LeavingStory job;
  CHECK(job.asks_to_leave(2) == all_stop(SIGTERM, CoordinatorOptions{}.grace));
  CHECK(job.joins(2, 1).empty());
  CHECK(job.joins(0, 1).empty());
  const Actions next = job.joins(1, 1);
  CHECK(next.front() == CoordinatorAction(left(2)));
  CHECK(members_of(next) == std::vector{0, 1});
  CHECK(std::get<StartGeneration>(next.back()).part.cause == "n2 left by SIGTERM (15)");
}

TEST_CASE("coordinator: a node whose signal may be for all leaves once the others had time") {
  LeavingStory job;
  CHECK(job.is_evicted(2).empty());
  CHECK(job.coordinator.next_deadline() == job.now + Millis{1'000});
  job.now = job.now + Millis{999};
  CHECK(job.meets(Timeout{}).empty());
  job.now = job.now + Millis{1};
  CHECK(job.meets(Timeout{}) == all_stop(SIGTERM, CoordinatorOptions{}.grace));
  CHECK(job.coordinator.next_deadline() == std::nullopt);
  for (const int node : {2, 0}) CHECK(job.joins(node, 1).empty());
  CHECK(members_of(job.joins(1, 1)) == std::vector{0, 1});
}

TEST_CASE("coordinator: a signal that all nodes get within a second ends the job") {
  LeavingStory job;
  CHECK(job.is_evicted(2).empty());
  job.now = job.now + Millis{900};
  CHECK(job.is_evicted(1) == all_stop(SIGTERM, CoordinatorOptions{}.grace));
  CHECK(job.is_evicted(0).empty());
  for (const int node : {0, 1}) CHECK(job.joins(node, 1).empty());
  const Outcome outcome{128 + SIGTERM, "stopped by SIGTERM (15)", {}};
  CHECK(job.joins(2, 1) == Actions{finish(outcome, 2), finish(outcome, 0), finish(outcome, 1)});
}

TEST_CASE("coordinator: nodes whose signals may be for all wait for the first one's second") {
  CoordinatorOptions options = LeavingStory::options();
  options.gathering.nodes_min = 1;
  JobStory job(options);
  for (const int node : {0, 1, 2}) (void)job.joins(node);
  const Instant first = job.now;
  for (const int node : {1, 2}) {
    CHECK(job.meets(LeaveRequested{NodeId{node}, SIGTERM, true}).empty());
    CHECK(job.coordinator.next_deadline() == first + Millis{1'000});
    job.now = job.now + Millis{500};
  }
  CHECK(job.meets(Timeout{}).size() == 3);
  for (const int node : {1, 2}) CHECK(job.joins(node, 1).empty());
  CHECK(members_of(job.joins(0, 1)) == std::vector{0});
}

TEST_CASE("coordinator: what ends a generation meanwhile leaves out who is to leave") {
  CoordinatorOptions options = LeavingStory::options();
  options.gathering.nodes_min = 1;
  JobStory job(options);
  for (const int node : {0, 1, 2}) (void)job.joins(node);
  (void)job.meets(LeaveRequested{NodeId{2}, SIGTERM, true});
  CHECK_FALSE(job.loses(1).empty());
  CHECK(job.coordinator.next_deadline() == std::nullopt);
  CHECK(job.joins(2, 1).empty());
  CHECK(members_of(job.joins(0, 1)) == std::vector{0});
}

TEST_CASE("coordinator: a node that joins or is lost then takes no time from what is saved") {
  LeavingStory lost;
  (void)lost.is_evicted(2);
  CHECK(lost.loses(1) == Actions{stop(1, SIGTERM, CoordinatorOptions{}.grace, 0),
                                 stop(1, SIGTERM, CoordinatorOptions{}.grace, 2)});
  LeavingStory joined;
  (void)joined.is_evicted(2);
  CHECK(joined.joins(1, 1) == Actions{stop(1, SIGTERM, CoordinatorOptions{}.grace, 0),
                                      stop(1, SIGTERM, CoordinatorOptions{}.grace, 2)});
}

TEST_CASE("coordinator: who has taken over lets a node leave before it knows who is there") {
  Generation before;
  before.number = GenerationNumber{1};
  before.members = {{offer_of(0), Rank{0}}, {offer_of(1), Rank{2}}};
  JobStory job(LeavingStory::options());
  job.coordinator = Coordinator(LeavingStory::options(), before, {}, "head n0 left");
  CHECK(job.meets(LeaveRequested{NodeId{0}, SIGTERM}).empty());
  for (const int node : {0, 1}) (void)job.joins(node, 1);
  const Actions next = job.joins(2);  // a spare
  CHECK(next.front() == CoordinatorAction(left(0)));
  CHECK(members_of(next) == std::vector{1, 2});
}

TEST_CASE("coordinator: a worker that fails while a node is about to leave is not to blame") {
  LeavingStory job;
  (void)job.is_evicted(2);
  const WorkerFailure end = job.failure(1, {WorkerEnd::Kind::killed, SIGTERM});
  Actions answer = job.meets(WorkerFailed{GenerationNumber{1}, end});
  CHECK(std::get<Note>(answer.at(0)).text ==
        "rank 1 (pid 71 on n0) was killed by SIGTERM (15), and does not count: n2 left by SIGTERM "
        "(15)");
  answer.erase(answer.begin());
  CHECK(answer == all_stop(SIGTERM, CoordinatorOptions{}.grace));
  for (const int node : {1, 2}) CHECK(job.joins(node, 1).empty());
  const Actions next = job.joins(0, 1);
  CHECK(members_of(next) == std::vector{0, 1});
  CHECK(std::get<StartGeneration>(next.back()).part.cause == "n2 left by SIGTERM (15)");
}

TEST_CASE("coordinator: who asks twice to leave asks once") {
  LeavingStory job;
  (void)job.asks_to_leave(2);
  CHECK(job.asks_to_leave(2).empty());
}

TEST_CASE("coordinator: without enough others a node's leaving ends the job") {
  LeavingStory job;
  (void)job.asks_to_leave(2);
  CHECK(job.asks_to_leave(1).empty());  // the workers stop already
  for (const int node : {0, 1}) CHECK(job.joins(node, 1).empty());
  const Actions end = job.joins(2, 1);
  const Outcome outcome{128 + SIGTERM, "stopped by SIGTERM (15)", {}};
  CHECK(end == Actions{finish(outcome, 2), finish(outcome, 0), finish(outcome, 1)});
}

TEST_CASE("coordinator: a leave that comes later takes no time from workers that save") {
  LeavingStory job;
  (void)job.asks_to_leave(2);
  for (const int node : {1, 0}) {
    job.now = job.now + Millis{2'000};
    CHECK(job.asks_to_leave(node).empty());
  }
  job.now = job.now + Millis{2'000};
  CHECK(job.meets(LeaveRequested{NodeId{0}, SIGTERM, false, true}).empty());
}

TEST_CASE("coordinator: its own node hands over what it coordinates when no worker lives") {
  LeavingStory job;
  CHECK(job.meets(own_node_leaves) == all_stop(SIGTERM, CoordinatorOptions{}.grace));
  for (const int node : {0, 1}) CHECK(job.joins(node, 1).empty());
  CHECK(job.joins(2, 1) == Actions{HandOver{{NodeId{0}}, {{}, 2}}});
  CHECK(job.meets(Timeout{}).empty());
}

TEST_CASE("coordinator: who hands over names those that have ended, and no others are waited for") {
  CoordinatorOptions options = LeavingStory::options();
  options.gathering.nodes_min = 1;
  options.gathering.nodes_max = 4;
  JobStory first(options);
  for (const int node : {0, 1, 2, 3}) (void)first.joins(node);
  (void)first.meets(own_node_leaves);
  for (const int node : {0, 1}) (void)first.joins(node, 1);
  (void)first.loses(3);  // but that one may live
  CHECK(first.meets(LeaveRequested{NodeId{1}, SIGTERM}) == Actions{left(1)});
  CHECK(first.joins(2, 1) == Actions{HandOver{{NodeId{0}}, {{NodeId{1}}, 1}}});
  JobStory job(options);
  job.coordinator =
      Coordinator(options, first.coordinator.newest(), {{NodeId{1}}, 1}, "head n0 left");
  CHECK(job.coordinator.reason() == "generation 1 ends: 1 of 4 nodes have stopped");
  for (const int node : {0, 2}) CHECK(job.joins(node, 1).empty());
  CHECK(members_of(job.joins(3)) == std::vector{0, 2, 3});
}

TEST_CASE(
    "coordinator: who has taken over from a head that left waits for nodes that come, a second") {
  CoordinatorOptions options = LeavingStory::options();
  options.gathering.nodes_min = 1;
  options.gathering.nodes_max = 3;
  JobStory first(options);
  for (const int node : {0, 1, 2}) (void)first.joins(node);
  (void)first.meets(own_node_leaves);
  CHECK(first.joins(3).empty());  // a newcomer
  for (const int node : {0, 1}) (void)first.joins(node, 1);
  CHECK(first.joins(2, 1) == Actions{HandOver{{NodeId{0}}, {{}, 3}}});
  const auto successor = [&] {
    JobStory job(options);
    job.coordinator = Coordinator(options, first.coordinator.newest(), {{}, 3}, "head n0 left");
    (void)job.meets(LeaveRequested{NodeId{0}, SIGTERM});
    for (const int node : {0, 1, 2}) CHECK(job.joins(node, 1).empty());
    return job;
  };
  JobStory all = successor();
  CHECK(members_of(all.joins(3)) == std::vector{1, 2, 3});
  JobStory late = successor();
  CHECK(late.coordinator.next_deadline() == late.now + Millis{1'000});
  late.now = late.now + Millis{1'000};
  CHECK(members_of(late.meets(Timeout{})) == std::vector{1, 2});
}

TEST_CASE("coordinator: who leaves as the last one does not end the job of nodes that were lost") {
  LeavingStory job;
  for (const int node : {1, 2}) (void)job.loses(node);
  (void)job.joins(0, 1);
  const Outcome outcome{128 + SIGTERM, "stopped by SIGTERM (15)", {}};
  CHECK(job.meets(LeaveRequested{NodeId{0}, SIGTERM, false, true}) ==
        Actions{FinishJob{NodeId{0}, outcome, true}});
  CHECK(job.joins(2, 1) == Actions{FinishJob{NodeId{2}, outcome, true}});
  CHECK(job.joins(1, 1) == Actions{finish(outcome, 1)});  // none is lost any more
}

TEST_CASE("coordinator: who has taken over ends the job once all that it knows leave") {
  const LeavingStory first;
  LeavingStory job;
  job.coordinator =
      Coordinator(LeavingStory::options(), first.coordinator.newest(), {}, "head n0 left");
  CHECK(job.meets(LeaveRequested{NodeId{1}, SIGTERM, false, true}).empty());
  CHECK(job.asks_to_leave(0).empty());  // fewer than MIN; but there may be others
  CHECK(job.asks_to_leave(2).empty());  // there is none that is known
  for (const int node : {0, 1}) CHECK(job.joins(node, 1).empty());
  const Outcome outcome{128 + SIGTERM, "stopped by SIGTERM (15)", {}};
  CHECK(job.joins(2, 1) == Actions{finish(outcome, 0), finish(outcome, 1), finish(outcome, 2)});
}

TEST_CASE("coordinator: who would hand over to nobody ends the job") {
  const LeavingStory first;
  LeavingStory job;
  job.coordinator =
      Coordinator(LeavingStory::options(), first.coordinator.newest(), {}, "head n0 left");
  (void)job.meets(LeaveRequested{NodeId{1}, SIGTERM, false, true});
  (void)job.asks_to_leave(0);
  for (const int node : {0, 1}) CHECK(job.joins(node, 1).empty());
  const Outcome outcome{128 + SIGTERM, "stopped by SIGTERM (15)", {}};
  CHECK(job.loses(2) ==
        Actions{FinishJob{NodeId{0}, outcome, true}, FinishJob{NodeId{1}, outcome, true}});
}

TEST_CASE("coordinator: who asks to leave before it has joined takes no part") {
  LeavingStory job;
  (void)job.loses(2);
  CHECK(job.asks_to_leave(2).empty());  // in a new life, say
  CHECK(job.joins(2) == Actions{left(2)});
  CHECK(job.joins(0, 1).empty());
  CHECK(members_of(job.joins(1, 1)) == std::vector{0, 1});
}

TEST_CASE("coordinator: who hands over when nobody can take over ends the job") {
  LeavingStory job;
  (void)job.meets(own_node_leaves);
  for (const int node : {0, 1, 2}) (void)job.joins(node, 1);
  const Outcome outcome{128 + SIGUSR1, "stopped by SIGUSR1 (10)", {}};
  CHECK(job.meets(LeadKept{}) ==
        Actions{finish(outcome, 0), finish(outcome, 1), finish(outcome, 2)});
}

TEST_CASE("coordinator: its own node that leaves where too few are left ends the job") {
  LeavingStory job;
  (void)job.asks_to_leave(2);
  CHECK(job.meets(own_node_leaves).empty());
  for (const int node : {0, 1}) (void)job.joins(node, 1);
  CHECK(job.joins(2, 1).front() ==
        CoordinatorAction(finish({128 + SIGUSR1, "stopped by SIGUSR1 (10)", {}}, 2)));
}

TEST_CASE("coordinator: a node that waits is enough for another one to leave") {
  CoordinatorOptions options = LeavingStory::options();
  options.gathering.nodes_max = 2;
  options.gathering.spares = 1;
  JobStory job(options);
  for (const int node : {0, 1, 2}) (void)job.joins(node);
  (void)job.meets(LeaveRequested{NodeId{1}, SIGTERM});
  (void)job.joins(1, 1);
  CHECK(members_of(job.joins(0, 1)) == std::vector{0, 2});
}

TEST_CASE("coordinator: a node that was lost is not one of those that are left") {
  LeavingStory job;
  (void)job.loses(2);
  CHECK(job.asks_to_leave(1).empty());  // workers stop already
  (void)job.joins(0, 1);
  const Outcome outcome{128 + SIGTERM, "stopped by SIGTERM (15)", {}};
  CHECK(job.joins(1, 1) ==
        Actions{FinishJob{NodeId{0}, outcome, true}, FinishJob{NodeId{1}, outcome, true}});
}

TEST_CASE("coordinator: who leaves while too few wait for a restart ends the job") {
  LeavingStory job;
  (void)job.loses(2);
  (void)job.loses(1);
  (void)job.joins(0, 1);
  REQUIRE(job.coordinator.state() == Coordinator::State::forming);
  const Outcome outcome{128 + SIGTERM, "stopped by SIGTERM (15)", {}};
  CHECK(job.asks_to_leave(0) == Actions{FinishJob{NodeId{0}, outcome, true}});
}

TEST_CASE("coordinator: a node that is lost while it leaves is not waited for") {
  LeavingStory job;
  (void)job.asks_to_leave(2);
  for (const int node : {0, 1}) (void)job.joins(node, 1);
  CHECK(members_of(job.loses(2)) == std::vector{0, 1});
}

TEST_CASE("coordinator: C9 a node that waits leaves at once") {
  LeavingStory job;
  (void)job.joins(3);
  CHECK(job.asks_to_leave(3) == Actions{left(3)});
}

TEST_CASE("coordinator: C9 a node that leaves before the first generation is no part of it") {
  JobStory job(LeavingStory::options());
  (void)job.joins(0);
  CHECK(job.meets(LeaveRequested{NodeId{0}, SIGTERM}) == Actions{left(0)});
  (void)job.joins(1);
  CHECK(job.waits(Millis{600'000}) ==
        Actions{finish({69, "1 of at least 2 nodes joined: n1", {}}, 1)});
}

TEST_CASE("coordinator: C9 who asks to leave before it has joined leaves as it joins") {
  JobStory job(LeavingStory::options());
  CHECK(job.meets(LeaveRequested{NodeId{1}, SIGTERM}).empty());
  CHECK(job.joins(1) == Actions{left(1)});  // however long others are waited for
  for (const int node : {0, 2}) (void)job.joins(node);
  CHECK(members_of(job.joins(3)) == std::vector{0, 2, 3});
}

TEST_CASE("coordinator: C9 a voter that joins again to leave stays until the others have decided") {
  CoordinatorOptions options = LeavingStory::options();
  options.voters_decide = true;
  JobStory job(options);
  for (const int node : {0, 1, 2}) (void)job.joins(node);
  (void)job.meets(Decided{GenerationNumber{1}});
  (void)job.loses(2);
  CHECK(job.meets(LeaveRequested{NodeId{2}, SIGTERM}).empty());
  CHECK(job.joins(2).empty());
  for (const int node : {0, 1}) (void)job.joins(node, 1);
  const Actions decided = job.meets(Decided{GenerationNumber{2}});
  CHECK(decided.front() == CoordinatorAction(left(2)));
  CHECK(members_of(decided) == std::vector{0, 1});
}

TEST_CASE("coordinator: C9 a voter that has stopped leaves when the others have decided") {
  CoordinatorOptions options = LeavingStory::options();
  options.voters_decide = true;
  JobStory job(options);
  for (const int node : {0, 1, 2}) (void)job.joins(node);
  (void)job.meets(Decided{GenerationNumber{1}});
  (void)job.meets(LeaveRequested{NodeId{2}, SIGTERM});
  for (const int node : {2, 0, 1}) {
    for (const CoordinatorAction& action : job.joins(node, 1)) {
      CHECK(std::get_if<FinishJob>(&action) == nullptr);
    }
  }
  CHECK(job.coordinator.state() == Coordinator::State::deciding);
  const Actions decided = job.meets(Decided{GenerationNumber{2}});
  CHECK(decided.front() == CoordinatorAction(left(2)));
  CHECK(members_of(decided) == std::vector{0, 1});
}

}  // namespace
}  // namespace ddprun
