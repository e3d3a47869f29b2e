#include "launcher/node/agent.hpp"

#include "tests/unit/launcher/node/agent_kit.hpp"

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <map>
#include <utility>

namespace ddprun {
namespace {

using namespace agent_story;

TEST_CASE("agent: it opens a store, offers its node, and starts what it is told to") {
  OneNode node;
  CHECK(node.begins() == Lines{"bind a store"});
  CHECK(node.store_opens() ==
        Lines{"tell: join of node 0 n1 10.0.0.2:4002 with 2 workers, done with generation 0"});
  CHECK(node.starts(1) ==
        Lines{"spawn generation 1 (why, 0 before it): node 1 of 2, ranks 2+2 of 4, "
              "store 10.0.0.1:4001"});
  CHECK_FALSE(node.agent.next_deadline());
}

TEST_CASE("agent: a witness needs no store, and ends with the job") {
  Agent agent({.host = "login", .witness = true, .worker_count = 0});
  std::vector<AgentAction> actions;
  agent.start(actions);
  CHECK(lines_of(actions) ==
        Lines{"tell: join of node 0 login :0 with 0 workers, done with generation 0"});
  const auto meets = [&](const AgentEvent& event) {
    actions.clear();
    agent.on_event({}, event, actions);
    return lines_of(actions);
  };
  CHECK(meets(LeaseEnded{}).empty());
  CHECK(meets(LifeEnded{}) ==
        Lines{"tell: join of node 0 login :0 with 0 workers, done with generation 0"});
  CHECK(meets(FinishJob{{}, {3, "why", {}}}) == Lines{"exit with status 3: why"});
}

TEST_CASE("agent: A1 the next offer waits until every process of a generation is gone") {
  OneNode node = running_node();
  CHECK(node.ends(0, exited(3)) ==
        Lines{"tell: in generation 1 rank 2 (pid 70 on n1) exited with 3"});
  CHECK(node.is_stopped(1, SIGTERM, Millis{1'000}) == Lines{"signal SIGTERM (15)"});
  CHECK(node.starts(2).empty());
  CHECK(node.ends(1, killed(SIGTERM)) == Lines{"kill all"});  // what the workers left behind
  CHECK(node.starts(2).empty());
  CHECK(node.meets(AllGone{}) == Lines{"close the store", "bind a store"});
  CHECK(node.starts(2).empty());
  CHECK(node.store_opens() ==
        Lines{"tell: join of node 1 n1 10.0.0.2:4002 with 2 workers, done with generation 1"});
  CHECK(node.starts(2).size() == 1);
}

TEST_CASE("agent: A2 an end is told once and only while its generation runs") {
  OneNode node = running_node();
  CHECK(node.ends(1, exited(0)) == Lines{"tell: in generation 1 rank 3 succeeded"});
  CHECK(node.ends(0, killed(SIGSEGV)) ==
        Lines{"tell: in generation 1 rank 2 (pid 70 on n1) was killed by SIGSEGV (11)"});
  CHECK(node.is_stopped(1, SIGTERM, Millis{1'000}) ==
        Lines{"kill all"});  // nobody to be graceful to
  OneNode stopping = running_node();
  (void)stopping.is_stopped(1, SIGTERM, Millis{1'000});
  CHECK(stopping.ends(0, exited(3)).empty());
  CHECK(stopping.ends(1, exited(0)) == Lines{"kill all"});
}

TEST_CASE("agent: A2 after a worker that hangs no end is told, of it or of another") {
  OneNode node = running_node();
  CHECK(node.meets(WorkerHung{LocalRank{0}, 70, Millis{1'000}}) ==
        Lines{"note: rank 2 hangs before its first step (--hang-timeout)",
              "tell: in generation 1 rank 2 (pid 70 on n1) hung: it told nothing for 1 s"});
  CHECK(node.meets(WorkerHung{LocalRank{1}, 71, Millis{1'000}}).empty());
  CHECK(node.ends(0, exited(3)).empty());
  CHECK(node.ends(1, killed(SIGTERM)).empty());
  CHECK_FALSE(node.agent.next_deadline());
  OneNode held = running_node();
  (void)held.ends(0, killed(SIGTERM));
  CHECK(held.meets(WorkerHung{LocalRank{1}, 71, Millis{1'000}}).empty());
  OneNode next = running_node();
  (void)next.meets(WorkerHung{LocalRank{0}, 70, Millis{1'000}});
  (void)next.is_stopped(1, SIGTERM, Millis{0});
  (void)next.meets(AllGone{});
  (void)next.store_opens();
  (void)next.starts(2);
  CHECK(next.ends(0, exited(3)).size() == 1);
}

TEST_CASE("agent: the grace runs from the stop, and SIGKILL ends it to the millisecond") {
  OneNode node = running_node();
  CHECK(node.is_stopped(1, SIGINT, Millis{10'000}) == Lines{"signal SIGINT (2)"});
  CHECK(node.agent.next_deadline() == Instant{10'000});
  CHECK(node.after(Millis{9'999}).empty());
  CHECK(node.after(Millis{1}) ==
        Lines{"note: rank 2, 3 did not end within 10 s after SIGINT (2): killed", "kill all"});
}

TEST_CASE("agent: of two stops the newer one holds, and one without grace kills at once") {
  OneNode node = running_node();
  (void)node.is_stopped(1, SIGINT, Millis{10'000});
  CHECK(node.is_stopped(1, SIGTERM, Millis{2'000}) == Lines{"signal SIGTERM (15)"});
  CHECK(node.agent.next_deadline() == Instant{2'000});
  CHECK(node.is_stopped(1, SIGTERM, Millis{0}) == Lines{"kill all"});
  CHECK(node.is_stopped(1, SIGTERM, Millis{0}).empty());
}

TEST_CASE("agent: a stop of another generation changes nothing") {
  OneNode node = running_node();
  const Agent before = node.agent;
  CHECK(node.is_stopped(0, SIGTERM, Millis{0}).empty());
  CHECK(node.is_stopped(2, SIGTERM, Millis{0}).empty());
  CHECK(node.agent == before);
}

TEST_CASE(
    "agent: the stop of a generation that was never started here is answered by a new offer") {
  OneNode node;
  (void)node.store_opens();
  CHECK(node.is_stopped(0, SIGTERM, Millis{0}).empty());  // it is done with that one
  CHECK(node.is_stopped(3, SIGTERM, Millis{1'000}) == Lines{"close the store", "bind a store"});
  CHECK(node.is_stopped(3, SIGTERM, Millis{1'000}).empty());
  CHECK(node.store_opens() ==
        Lines{"tell: join of node 0 n1 10.0.0.2:4002 with 2 workers, done with generation 3"});
  CHECK(node.is_stopped(3, SIGTERM, Millis{1'000}).empty());
  CHECK(node.starts(4).size() == 1);
}

TEST_CASE("agent: without a store it joins all the same and says why there is none") {
  OneNode node;
  const Error error(ExitStatus::system_refused, "cannot open a store", "no address", "look");
  CHECK(node.meets(StoreUnavailable{error}) ==
        Lines{"tell: join of node 0 n1 :0 with 2 workers, done with generation 0"});
}

// The whole table: what each state answers to each event. A pair that is not listed must change
// nothing at all.
enum class Phase { binding, joined, running, stopping, killing, stuck, finished };
constexpr std::array every_phase{Phase::binding,
                                 Phase::joined,
                                 Phase::running,
                                 Phase::stopping,
                                 Phase::killing,
                                 Phase::stuck,
                                 Phase::finished};

OneNode node_in(Phase state) {
  OneNode node;
  if (state == Phase::binding) return node;
  (void)node.store_opens();
  if (state == Phase::finished) (void)node.meets(FinishJob{NodeId{1}, Outcome{}});
  if (state == Phase::finished) return node;
  if (state == Phase::joined) return node;
  (void)node.starts(1);
  if (state == Phase::stopping) (void)node.is_stopped(1, SIGTERM, Millis{10'000});
  const bool kills = state == Phase::killing || state == Phase::stuck;
  if (kills) (void)node.is_stopped(1, SIGTERM, Millis{0});
  if (state == Phase::stuck) (void)node.after(Millis{5'000});
  return node;
}

struct AgentRow {
  const char* name;
  AgentEvent event;
  std::map<Phase, Lines> answers;
};

AgentRow hang() {
  return {"WorkerHung",
          WorkerHung{LocalRank{1}, 71, Millis{2'500}, 8'000},
          {{Phase::running,
            {"note: rank 3 hangs after step 8,000 (--hang-timeout)",
             "tell: in generation 1 rank 3 (pid 71 on n1) hung: it told nothing for 2.5 s"}}}};
}

AgentRow end() {
  return {"FinishJob",
          FinishJob{NodeId{1}, Outcome{7, "over", {}}},
          {{Phase::binding, {"exit with status 7: over"}},
           {Phase::joined, {"close the store", "exit with status 7: over"}},
           {Phase::stuck, {"exit with status 71: " + both_stuck + "; the job: over"}}}};
}

AgentRow time_limit() {
  AgentRow row{"TimeIsUp", TimeIsUp{}, {}};
  for (const Phase phase : every_phase) {
    if (phase != Phase::finished) row.answers[phase] = {"tell: stop before the time limit"};
  }
  return row;
}

std::vector<AgentRow> table() {
  const Lines kill{"kill all"};
  const Lines join{"tell: join of node 0 n1 10.0.0.2:4002 with 2 workers, done with generation 0"};
  const Lines stop{"tell: stop by SIGHUP (1)"};
  const Lines say_and_stop{"note: SIGHUP (1): stopping the job", stop.front()};
  const Error error(ExitStatus::system_refused, "no", "", "");
  return {
      {"StoreBound", StoreBound{4002, "10.0.0.2"}, {{Phase::binding, join}}},
      {"StoreUnavailable",
       StoreUnavailable{error},
       {{Phase::binding, {"tell: join of node 0 n1 :0 with 2 workers, done with generation 0"}}}},
      {"SnapshotSeen", SnapshotSeen{SnapshotPosition{1, 2, 3}}, {}},
      {"StartGeneration",
       StartGeneration{NodeId{1}, part(2)},
       {{Phase::joined, {"spawn " + text_of(part(2))}}}},
      {"StopGeneration",
       StopGeneration{NodeId{1}, GenerationNumber{1}, SIGTERM, Millis{1'000}},
       {{Phase::joined, {"close the store", "bind a store"}},  // it was never started here
        {Phase::running, {"signal SIGTERM (15)"}},
        {Phase::stopping, {"signal SIGTERM (15)"}}}},
      end(),
      time_limit(),
      {"WorkerEnded",
       WorkerEnded{LocalRank{0}, 70, exited(3)},
       {{Phase::running, {"tell: in generation 1 rank 2 (pid 70 on n1) exited with 3"}},
        {Phase::stopping, {}},
        {Phase::killing, {}},
        {Phase::stuck, {}}}},
      hang(),
      {"GiveUp",
       GiveUp{Outcome{75, "alone", {}}},
       {{Phase::binding, {"exit with status 75: alone"}},
        {Phase::joined, {"close the store", "exit with status 75: alone"}},
        {Phase::running, kill},
        {Phase::stopping, kill},
        {Phase::killing, {}},
        {Phase::stuck, {"exit with status 71: " + both_stuck}}}},
      {"AllGone",
       AllGone{},
       {{Phase::killing, {"close the store", "bind a store"}},
        {Phase::stuck, {"close the store", "bind a store"}}}},
      {"SIGHUP",
       SignalArrived{SIGHUP, false},
       {{Phase::binding, stop},
        {Phase::joined, stop},
        {Phase::running, say_and_stop},
        {Phase::stopping, say_and_stop},
        {Phase::killing, stop},
        {Phase::stuck, stop},
        {Phase::finished, {"hurry by SIGHUP (1)"}}}},
      {"SIGUSR2", SignalArrived{SIGUSR2, false}, {{Phase::running, {"signal SIGUSR2 (12)"}}}},
      {"GuardLost",
       GuardLost{},
       {{Phase::binding, kill},
        {Phase::joined, kill},
        {Phase::running, kill},
        {Phase::stopping, kill},
        {Phase::killing, kill},
        {Phase::stuck, {"exit with status 71: " + both_stuck}}}},
      {"LeaseEnded", LeaseEnded{}, {{Phase::running, kill}, {Phase::stopping, kill}}},
      {"LifeEnded",
       LifeEnded{},
       {{Phase::joined, join},
        {Phase::running, kill},
        {Phase::stopping, kill},
        {Phase::killing, {}},
        {Phase::stuck, {"need no lease", told_stuck}}}},
      {"Timeout", Timeout{}, {}},
  };
}

TEST_CASE("agent: every event in every state is answered as listed, or changes nothing") {
  for (const AgentRow& row : table()) {
    for (const Phase state : every_phase) {
      INFO(std::string(row.name), " in state ", static_cast<int>(state));
      OneNode node = node_in(state);
      const Agent before = node.agent;
      const Lines answer = node.meets(row.event);
      if (const auto expected = row.answers.find(state); expected != row.answers.end()) {
        CHECK(answer == expected->second);
      } else {
        CHECK(answer == Lines{});
        CHECK(node.agent == before);
      }
    }
  }
}

TEST_CASE("agent: a job that is founded again counts its generations anew") {
  OneNode node = running_node();
  (void)node.meets(LifeEnded{});
  (void)node.meets(AllGone{});
  (void)node.meets(StoreBound{4003, "10.0.0.2"});
  const Lines stopped =
      node.meets(StopGeneration{NodeId{1}, GenerationNumber{1}, SIGTERM, Millis{1'000}});
  CHECK(stopped == Lines{"close the store", "bind a store"});  // it was never started here
}

TEST_CASE("agent: without a coordinator it ends, once no process is left") {
  OneNode node = running_node();
  CHECK(node.meets(LeaseEnded{}) == Lines{"kill all"});
  CHECK(node.meets(GiveUp{Outcome{75, "alone", {}}}).empty());
  CHECK(node.meets(AllGone{}) == Lines{"close the store", "exit with status 75: alone"});
}

TEST_CASE("agent: A3 once the guard is lost it kills everything and exits from every state") {
  for (const Phase state : every_phase) {
    if (state == Phase::finished || state == Phase::stuck) continue;
    CAPTURE(static_cast<int>(state));
    OneNode node = node_in(state);
    CHECK(node.meets(GuardLost{}) == Lines{"kill all"});
    CHECK(node.store_opens().empty());
    CHECK(node.starts(2).empty());
    CHECK(node.ends(0, killed(SIGKILL)).empty());
    CHECK(node.meets(AllGone{}) ==
          Lines{"close the store", "exit with status 70: the guard process was killed"});
    CHECK(node.meets(GuardLost{}).empty());
  }
}

TEST_CASE("agent: a held death is forgotten when everything is killed") {
  OneNode node = running_node();
  (void)node.ends(0, killed(SIGTERM));
  CHECK(node.meets(GuardLost{}) == Lines{"kill all"});
  CHECK(node.agent.next_deadline() == Instant{5'000});
  CHECK(node.after(Millis{500}).empty());
}

TEST_CASE("agent: processes have time to go although the agent itself was stopped meanwhile") {
  OneNode node = node_in(Phase::killing);
  CHECK(node.after(Millis{60'000}).empty());
  CHECK(node.agent.next_deadline() == Instant{65'000});
  CHECK(node.after(Millis{5'000}).size() == 2);
}

TEST_CASE("agent: a deadline that has come ends stopping and killing, and nothing else") {
  for (const Phase state : every_phase) {
    CAPTURE(static_cast<int>(state));
    OneNode node = node_in(state);
    const Agent before = node.agent;
    const Lines answer = node.after(state == Phase::killing ? Millis{5'000} : Millis{60'000});
    if (state == Phase::stopping) {
      REQUIRE(answer.size() == 2);
      CHECK(answer.front() == "note: rank 2, 3 did not end within 10 s after SIGTERM (15): killed");
      CHECK(answer.back() == "kill all");
    } else if (state == Phase::killing) {
      REQUIRE(answer.size() == 2);
      CHECK(answer.front() == "need no lease");
    } else {
      CHECK(answer.empty());
      CHECK(node.agent == before);
    }
  }
}

}  // namespace
}  // namespace ddprun
