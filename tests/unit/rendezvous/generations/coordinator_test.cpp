#include "rendezvous/generations/coordinator.hpp"

#include "tests/unit/rendezvous/generations/coordinator_kit.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <map>

namespace ddprun {
namespace {

using namespace job_story;

/// A generation of node 0 alone.
StartGeneration start(std::int64_t number, const std::string& cause) {
  Generation made;
  made.number = GenerationNumber{number};
  made.restart_count = static_cast<int>(number) - 1;
  made.cause = cause;
  made.members.push_back({offer_of(0), Rank{0}});
  return {NodeId{0}, made.parts().front()};
}

TEST_CASE("coordinator: a job that succeeds is started, swept and told") {
  JobStory job;
  CHECK(job.coordinator.reason() == "waiting: 0 of 1 nodes joined");
  CHECK(job.joins(0) == Actions{start(1, "start")});
  CHECK(job.coordinator.reason() == "generation 1 runs: 0 of 2 workers have ended");
  CHECK(job.succeeds(1, 1).empty());
  CHECK(job.coordinator.reason() == "generation 1 runs: 1 of 2 workers have ended");
  CHECK(job.succeeds(1, 0) == Actions{stop(1, SIGTERM, Millis{0})});
  CHECK(job.coordinator.reason() == "generation 1 ends: 0 of 1 nodes have stopped");
  const Outcome success{0, "all workers ended with success", {}};
  CHECK(job.joins(0, 1) == Actions{finish(success)});
  CHECK(job.coordinator.reason() == "all workers ended with success");
}

TEST_CASE("coordinator: a failure restarts everybody while the budget lasts") {
  JobStory job({.restarts = {.count_max = 1}});
  (void)job.joins(0);
  CHECK(job.fails(1, 1, exited(3)) == Actions{stop(1, SIGTERM, Millis{1'000})});
  CHECK(job.joins(0, 1) ==
        Actions{start(2, "restart 1 of 1: rank 1 (pid 71 on n0) exited with 3")});
  const WorkerEnd killed{WorkerEnd::Kind::killed, SIGKILL};
  CHECK(job.fails(2, 0, killed) == Actions{stop(2, SIGTERM, Millis{1'000})});
  const Outcome outcome{137,
                        "rank 0 (pid 70 on n0) was killed by SIGKILL (9), after 1 of 1 restarts",
                        JobStory::failure(0, killed)};
  CHECK(job.joins(0, 2) == Actions{finish(outcome)});
  CHECK(job.coordinator.reason() == outcome.text);
}

TEST_CASE(
    "coordinator: without a budget the first failure is the outcome, with nothing to explain") {
  JobStory job;
  (void)job.joins(0);
  (void)job.fails(1, 0, exited(5));
  const Outcome outcome{5, "rank 0 (pid 70 on n0) exited with 5", JobStory::failure(0, exited(5))};
  CHECK(job.joins(0, 1) == Actions{finish(outcome)});
}

TEST_CASE("coordinator: C1 nothing starts before every member has stopped") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 2}, .restarts = {.count_max = 5}});
  CHECK(job.joins(1) == Actions{Note{"waiting: 1 of 2 nodes joined: n1; 600 s left"}});
  CHECK(job.coordinator.reason() == "waiting: 1 of 2 nodes joined");
  CHECK(job.joins(0).size() == 2);
  CHECK(job.fails(1, 3, exited(1)) ==
        Actions{stop(1, SIGTERM, Millis{1'000}, 0), stop(1, SIGTERM, Millis{1'000}, 1)});
  CHECK(job.joins(0, 1).empty());
  CHECK(job.joins(0, 1).empty());  // said twice
  CHECK(job.joins(1, 0).empty());  // by one who has not stopped
  CHECK(job.coordinator.reason() == "generation 1 ends: 1 of 2 nodes have stopped");
  CHECK(job.joins(1, 1).size() == 2);
}

TEST_CASE("coordinator: what a member said before the generation started changes nothing") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 2}});
  (void)job.joins(0);
  (void)job.joins(1);
  const Coordinator before = job.coordinator;
  for (const int node : {0, 1}) CHECK(job.joins(node, 0).empty());
  CHECK(job.coordinator == before);
}

JobStory two_to_three(int restarts_max = 0) {
  JobStory job(
      {.gathering = {.nodes_min = 2, .nodes_max = 3}, .restarts = {.count_max = restarts_max}});
  (void)job.joins(0);
  (void)job.joins(1);
  (void)job.joins(2);
  return job;
}

TEST_CASE("coordinator: a lost node ends the generation, and the survivors go on at once") {
  JobStory job = two_to_three();
  CHECK(job.loses(1) ==
        Actions{stop(1, SIGTERM, Millis{1'000}, 0), stop(1, SIGTERM, Millis{1'000}, 2)});
  CHECK(job.joins(2, 1).empty());
  const Actions next = job.joins(0, 1);
  CHECK(members_of(next) == std::vector{0, 2});
  CHECK(cause_of(next) == "n1 was lost: silent for 4 s");
}

TEST_CASE("coordinator: C4 the failures that a lost node makes elsewhere spend no budget") {
  JobStory job = two_to_three();
  (void)job.fails(1, 0, exited(1));  // its connection to n2 broke
  (void)job.joins(0, 1);
  CHECK(job.joins(1, 1).empty());  // n2 has not confirmed
  CHECK(cause_of(job.loses(2)) == "n2 was lost: silent for 4 s");
}

TEST_CASE("coordinator: a request to stop is not forgotten when a node turns out to be lost") {
  JobStory job = two_to_three();
  (void)job.fails(1, 0, exited(4));
  (void)job.is_asked_to_stop({SIGINT});
  (void)job.joins(0, 1);
  (void)job.joins(1, 1);
  const Actions last = job.loses(2);
  REQUIRE(last.size() == 2);
  CHECK(std::get<FinishJob>(last[0]).outcome.exit_status == 4);
}

TEST_CASE("coordinator: a member that has stopped and is lost then does not hold up the others") {
  JobStory job = two_to_three(1);
  (void)job.fails(1, 0, exited(1));
  (void)job.joins(1, 1);
  CHECK(job.loses(1).empty());
  (void)job.joins(0, 1);
  const Actions next = job.joins(2, 1);
  CHECK(members_of(next) == std::vector{0, 2});
  CHECK(cause_of(next) == "restart 1 of 1: rank 0 (pid 70 on n0) exited with 1");
}

TEST_CASE("coordinator: a member that stopped by itself was cut off, that spends no budget") {
  JobStory job = two_to_three();
  CHECK(job.joins(1, 1) ==
        Actions{stop(1, SIGTERM, Millis{1'000}, 0), stop(1, SIGTERM, Millis{1'000}, 2)});
  (void)job.joins(0, 1);
  CHECK(cause_of(job.joins(2, 1)) == "n1 was cut off and stopped its workers");
}

TEST_CASE("coordinator: with too few left it waits for another one, and ends in good order") {
  JobStory job = two_to_three();
  (void)job.loses(1);
  (void)job.loses(2);
  CHECK(job.joins(0, 1) ==
        Actions{Note{"waiting: 1 of 3 nodes joined: n0; 30 s left; not seen: n1, n2"}});
  CHECK(job.coordinator.next_deadline() == Instant{30'000});
  CHECK(job.waits(Millis{29'999}).empty());
  JobStory replaced = job;
  CHECK(members_of(replaced.joins(7)) == std::vector{0, 7});
  CHECK(job.waits(Millis{1}) ==
        Actions{finish({75,
                        "n2 was lost: silent for 4 s; 1 of at least 2 nodes joined: n0; "
                        "not seen: n1, n2",
                        {}})});
}

TEST_CASE("coordinator: where the hosts are known it says who is missing from the start") {
  GatheringOptions gathering{.nodes_min = 2, .nodes_max = 11};
  for (int node = 0; node < 11; ++node) gathering.hosts.push_back("c" + std::to_string(node));
  JobStory job({.gathering = gathering});
  CHECK(job.joins(3) == Actions{Note{"waiting: 1 of 11 nodes joined: n3; 600 s left; not seen: c0, "
                                     "c1, c2, c4, c5, c6, c7, c8 and 2 more"}});
}

TEST_CASE("coordinator: too few for the first generation end the job by saying so") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 3, .join_timeout = Millis{60'000}}});
  (void)job.joins(0);
  CHECK(job.waits(Millis{60'000}) == Actions{finish({69, "1 of at least 2 nodes joined: n0", {}})});
}

TEST_CASE("coordinator: whoever joins while it runs is taken in after the last call") {
  JobStory job({.gathering = {.nodes_min = 1, .nodes_max = 3, .last_call = Millis{5'000}}});
  (void)job.joins(0);
  CHECK(job.waits(Millis{5'000}).size() == 1);
  CHECK(job.joins(4).empty());
  CHECK(job.coordinator.next_deadline() == Instant{10'000});
  JobStory full = job;
  CHECK(full.joins(2) == Actions{stop(1, SIGTERM, Millis{1'000})});  // no more are allowed
  CHECK(members_of(full.joins(0, 1)) == std::vector{0, 2, 4});
  CHECK(job.waits(Millis{5'000}) == Actions{stop(1, SIGTERM, Millis{1'000})});
  const Actions next = job.joins(0, 1);
  CHECK(members_of(next) == std::vector{0, 4});
  CHECK(cause_of(next) == "n4 joined");
}

TEST_CASE("coordinator: who joins and leaves again before the last call is over ends nothing") {
  JobStory job({.gathering = {.nodes_min = 1, .nodes_max = 3, .last_call = Millis{5'000}}});
  (void)job.joins(0);
  (void)job.waits(Millis{5'000});
  (void)job.joins(4);
  (void)job.loses(4);
  CHECK(job.waits(Millis{5'000}).empty());
  CHECK_FALSE(job.coordinator.next_deadline());
  (void)job.joins(5);
  CHECK(job.coordinator.next_deadline() == Instant{15'000});  // it has a last call of its own
}

TEST_CASE("coordinator: nodes beyond the allowed number are spares, and step in") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 2}});
  (void)job.joins(0);
  CHECK(members_of(job.joins(1)) == std::vector{0, 1});
  CHECK(job.joins(5).empty());
  CHECK_FALSE(job.coordinator.next_deadline());
  (void)job.loses(0);
  CHECK(members_of(job.joins(1, 1)) == std::vector{1, 5});
}

TEST_CASE("coordinator: by the policy of deferral nobody who joins ends a generation") {
  JobStory job({.gathering = {.nodes_min = 1, .nodes_max = 2, .last_call = Millis{0}},
                .join_policy = JoinPolicy::defer,
                .restarts = {.count_max = 1}});
  (void)job.joins(0);
  (void)job.waits(Millis{0});
  CHECK(job.joins(1).empty());
  CHECK_FALSE(job.coordinator.next_deadline());
  (void)job.fails(1, 0, exited(1));
  CHECK(members_of(job.joins(0, 1)) == std::vector{0, 1});
}

TEST_CASE("coordinator: C3 ranks follow the order of nodes, whatever their sizes and arrival") {
  JobStory job({.gathering = {.nodes_min = 3, .nodes_max = 3}});
  (void)job.joins(2, 0, 1);
  (void)job.joins(0, 0, 4);
  Generation expected;
  expected.number = GenerationNumber{1};
  expected.cause = "start";
  expected.members = {
      {offer_of(0, 4), Rank{0}}, {offer_of(1, 2), Rank{4}}, {offer_of(2, 1), Rank{6}}};
  const std::vector<Part> parts = expected.parts();
  CHECK(job.joins(1, 0, 2) == Actions{StartGeneration{NodeId{0}, parts[0]},
                                      StartGeneration{NodeId{1}, parts[1]},
                                      StartGeneration{NodeId{2}, parts[2]}});
  CHECK(expected.world_size() == 7);
}

TEST_CASE("coordinator: C2 numbers grow by one with each generation") {
  JobStory job({.restarts = {.count_max = 50}});
  (void)job.joins(0);
  for (std::int64_t number = 1; number <= 50; ++number) {
    (void)job.fails(number, 0, exited(1));
    const Actions next = job.joins(0, number);
    REQUIRE(next.size() == 1);
    const auto& start = std::get<StartGeneration>(next[0]);
    CHECK(start.part.number == GenerationNumber{number + 1});
    CHECK(start.part.restart_count == number);
  }
}

TEST_CASE("coordinator: C4 a generation spends the budget once") {
  JobStory job({.restarts = {.count_max = 2}});
  (void)job.joins(0);
  (void)job.fails(1, 0, exited(1));
  CHECK(job.fails(1, 1, exited(1)).empty());
  CHECK(job.fails(1, 0, exited(1)).empty());
  const Actions next = job.joins(0, 1);
  CHECK(std::get<StartGeneration>(next.at(0)).part.cause ==
        "restart 1 of 2: rank 0 (pid 70 on n0) exited with 1");
}

TEST_CASE("coordinator: C5 the first failure is told, not those that it caused") {
  JobStory job;
  (void)job.joins(0);
  (void)job.fails(1, 1, exited(7));
  CHECK(job.fails(1, 0, WorkerEnd{WorkerEnd::Kind::killed, SIGABRT}).empty());
  CHECK(job.succeeds(1, 0).empty());
  const Actions last = job.joins(0, 1);
  CHECK(std::get<FinishJob>(last.at(0)).outcome.failure == JobStory::failure(1, exited(7)));
}

TEST_CASE("coordinator: news of another generation changes nothing") {
  JobStory job({.restarts = {.count_max = 3}});
  (void)job.joins(0);
  (void)job.fails(1, 0, exited(1));
  (void)job.joins(0, 1);
  const Coordinator before = job.coordinator;
  for (const std::int64_t number : {0, 1, 3}) {
    CHECK(job.fails(number, 0, exited(1)).empty());
    CHECK(job.succeeds(number, 0).empty());
  }
  CHECK(job.coordinator == before);
}

TEST_CASE("coordinator: C6 whoever joins after the end is told the outcome") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 2}});
  (void)job.joins(0);
  const Outcome stopped{130, "stopped by SIGINT (2)", {}};
  CHECK(job.is_asked_to_stop({SIGINT}) == Actions{finish(stopped, 0)});
  CHECK(job.joins(1) == Actions{finish(stopped, 1)});
  CHECK(job.is_asked_to_stop({SIGINT}).empty());
  CHECK(job.coordinator.reason() == "stopped by SIGINT (2)");
}

TEST_CASE("coordinator: a program that cannot be executed is never started again") {
  JobStory job({.restarts = {.count_max = 5}});
  (void)job.joins(0);
  const WorkerEnd missing{WorkerEnd::Kind::not_executed, ENOENT};
  (void)job.fails(1, 0, missing);
  const Outcome outcome{127,
                        "rank 0 (pid 70 on n0) could not be executed: No such file or directory",
                        JobStory::failure(0, missing)};
  CHECK(job.joins(0, 1) == Actions{finish(outcome)});
}

TEST_CASE("coordinator: after a while those still running are named, once") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 2}});
  (void)job.joins(0);
  (void)job.joins(1);
  CHECK_FALSE(job.coordinator.next_deadline());
  job.now = Instant{1'000};
  (void)job.succeeds(1, 0);
  job.now = Instant{9'000};
  (void)job.succeeds(1, 2);
  CHECK(job.coordinator.next_deadline() == Instant{31'000});
  CHECK(job.waits(Millis{21'999}).empty());
  const Actions noted = job.waits(Millis{1});
  REQUIRE(noted.size() == 1);
  CHECK(std::get<Note>(noted[0]).text.find("still running: rank 1, 3") != std::string::npos);
  CHECK(job.waits(Millis{100'000}).empty());
  CHECK_FALSE(job.coordinator.next_deadline());
}

TEST_CASE("coordinator: nobody is named a straggler once the generation ends") {
  JobStory job({.restarts = {.count_max = 1}});
  (void)job.joins(0);
  (void)job.succeeds(1, 0);
  const WorkerFailed failed{GenerationNumber{1}, JobStory::failure(1, exited(1))};
  CHECK(job.meets(failed).size() == 1);  // no other worker is stopped, so there is no line
  CHECK_FALSE(job.coordinator.next_deadline());
  CHECK(job.waits(Millis{100'000}).empty());
}

TEST_CASE("coordinator: a worker that says twice that it succeeded counts once") {
  JobStory job;
  (void)job.joins(0);
  CHECK(job.succeeds(1, 0).empty());
  CHECK(job.succeeds(1, 0).empty());
  CHECK(job.succeeds(1, 1).size() == 1);
}

// The whole table: what each state answers to each event. A pair that is not listed must change
// nothing at all.
enum class In { forming, deciding, running, restarting, ending, finished };
constexpr std::array every_state{
    In::forming, In::deciding, In::running, In::restarting, In::ending, In::finished};

JobStory job_in(In state) {
  JobStory job({.voters_decide = state == In::deciding, .restarts = {.count_max = 1}});
  if (state == In::forming) return job;
  (void)job.joins(0);
  if (state == In::deciding || state == In::running) return job;
  if (state == In::restarting) {
    (void)job.fails(1, 0, exited(3));
  } else {
    (void)job.is_asked_to_stop({SIGINT});
  }
  if (state == In::finished) (void)job.joins(0, 1);
  return job;
}

TEST_CASE("coordinator: every event in every state is answered as listed, or changes nothing") {
  const Outcome stopped{130, "stopped by SIGINT (2)", {}};
  const Outcome stuck{71, "rank 0 is stuck", {}};
  const WorkerFailure failure = JobStory::failure(1, exited(4));
  const StartGeneration second = start(2, "restart 1 of 1: rank 0 (pid 70 on n0) exited with 3");
  struct Row {
    CoordinatorEvent event;
    std::map<In, Actions> answers;
  };
  const std::vector<Row> table{
      {Join{offer_of(0), GenerationNumber{1}},
       {{In::forming, {start(1, "start")}},
        {In::running, {start(2, "n0 was cut off and stopped its workers")}},
        {In::restarting, {second}},
        {In::ending, {finish(stopped)}},
        {In::finished, {finish(stopped)}}}},
      {Join{offer_of(0), GenerationNumber{0}},
       {{In::forming, {start(1, "start")}}, {In::finished, {finish(stopped)}}}},
      {WorkerFailed{GenerationNumber{1}, failure},
       {{In::running, {stop(1, SIGTERM, Millis{1'000})}}}},
      {WorkerSucceeded{GenerationNumber{1}, Rank{0}}, {{In::running, {}}}},
      {Decided{GenerationNumber{1}}, {{In::deciding, {start(1, "start")}}}},
      {WorkersStuck{NodeId{0}, GenerationNumber{1}, "rank 0 is stuck"},
       {{In::forming, {}},
        {In::running, {finish(stuck)}},
        {In::restarting, {finish(stuck)}},
        {In::ending, {finish(stopped)}},
        {In::finished, {finish(stopped)}}}},
      {StopRequested{SIGHUP},
       {{In::forming, {}},
        {In::deciding, {finish({129, "stopped by SIGHUP (1)", {}})}},
        {In::running, {stop(1, SIGHUP, Millis{10'000})}},
        {In::restarting, {}},
        {In::ending, {stop(1, SIGHUP, Millis{0})}}}},
      {NodeLost{NodeId{0}, "silent"},
       {{In::forming, {}},
        {In::deciding, {}},
        {In::running, {}},
        {In::restarting, {}},
        {In::ending, {}}}},
      {Timeout{}, {}},
  };
  for (const Row& row : table) {
    for (const In state : every_state) {
      INFO(text_of(row.event), " in state ", static_cast<int>(state));
      JobStory job = job_in(state);
      const Coordinator before = job.coordinator;
      const Actions answer = job.meets(row.event);
      const auto expected = row.answers.find(state);
      const bool listed = expected != row.answers.end();
      CHECK(answer == (listed ? expected->second : Actions{}));
      if (!listed) CHECK(job.coordinator == before);
    }
  }
}

}  // namespace
}  // namespace ddprun
