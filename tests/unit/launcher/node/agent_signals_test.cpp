// The agent: signals that its process gets, and that workers die by.
#include "launcher/node/agent.hpp"
#include "tests/unit/launcher/node/agent_kit.hpp"

#include <doctest/doctest.h>

#include <csignal>

namespace ddprun {
namespace {

using namespace agent_story;

TEST_CASE("agent: a death by a signal that jobs are sent waits for our own copy of it") {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    CAPTURE(signal);
    OneNode node = running_node();
    CHECK(node.ends(0, killed(signal)).empty());
    CHECK(node.agent.next_deadline() == Instant{500});
    CHECK(node.ends(1, exited(1)).empty());  // a victim of the first
    CHECK(node.after(Millis{499}).empty());
    CHECK(
        node.after(Millis{1}) ==
        Lines{"tell: in generation 1 rank 2 (pid 70 on n1) was killed by " + signal_name(signal)});
    CHECK_FALSE(node.agent.next_deadline());
  }
}

TEST_CASE("agent: a death by any other signal is told at once") {
  for (const int signal : {SIGKILL, SIGSEGV, SIGABRT, SIGBUS, SIGPIPE}) {
    OneNode node = running_node();
    CHECK(node.ends(0, killed(signal)).size() == 1);
    CHECK_FALSE(node.agent.next_deadline());
  }
}

TEST_CASE("agent: a witness tells of the time limit, too") {
  AgentOptions witness;
  witness.witness = true;
  CHECK(OneNode(witness).meets(TimeIsUp{}) == Lines{"tell: stop before the time limit"});
}

TEST_CASE("agent: our own copy of the signal makes a held death part of the job's end") {
  for (const int signal : {SIGTERM, SIGINT}) {
    OneNode node = running_node();
    (void)node.ends(0, killed(signal));
    const Lines told = node.gets(signal);
    REQUIRE(told.size() == 2);
    CHECK(told.front().starts_with("note: " + signal_name(signal) + ": stopping the job"));
    CHECK(told.back() == "tell: stop by " + signal_name(signal));
    CHECK(node.after(Millis{500}).empty());
    CHECK(node.is_stopped(1, signal, Millis{10'000}) == Lines{"signal " + signal_name(signal)});
    CHECK(node.ends(1, killed(signal)) == Lines{"kill all"});
  }
}

TEST_CASE("agent: a worker that dies by a signal we passed on has failed") {
  OneNode node = running_node();
  CHECK(node.gets(SIGUSR1) == Lines{"signal SIGUSR1 (10)"});
  CHECK(node.ends(0, killed(SIGUSR1)) ==
        Lines{"tell: in generation 1 rank 2 (pid 70 on n1) was killed by SIGUSR1 (10)"});
}

TEST_CASE("agent: a signal that asks workers to save is the job's matter, and none of theirs") {
  AgentOptions saving;
  saving.stopping_signals = {SIGUSR1};
  OneNode node = running_node(saving);
  CHECK(node.ends(0, killed(SIGUSR1)).empty());  // somebody sent it to them, too
  CHECK(node.gets(SIGUSR1) ==
        Lines{"note: SIGUSR1 (10): stopping the job", "tell: stop by SIGUSR1 (10)"});
  CHECK(node.gets(SIGUSR1).empty());  // the same request
  CHECK(node.gets(SIGUSR2) == Lines{"signal SIGUSR2 (12)"});
  CHECK(node.is_stopped(1, SIGTERM, Millis{60'000}) == Lines{"signal SIGTERM (15)"});
  CHECK(node.agent.next_deadline() == Instant{60'000});
}

TEST_CASE("agent: a signal that is to save asks running workers, and stops nothing") {
  AgentOptions saving;
  saving.snapshot_signals = {SIGUSR1};
  CHECK(OneNode{saving}.gets(SIGUSR1).empty());
  OneNode node = running_node(saving);
  CHECK(node.gets(SIGUSR1) == Lines{"ask to save by SIGUSR1 (10)"});
  CHECK(node.gets(SIGUSR1) == Lines{"ask to save by SIGUSR1 (10)"});
}

TEST_CASE("agent: the coordinator is told once what has come of its request to save") {
  const auto asked = [](std::int64_t number) {
    return SaveGeneration{NodeId{1}, GenerationNumber{number}};
  };
  OneNode node = running_node();
  CHECK(node.meets(SaveAnswered{70}).empty());  // a user's signal had asked
  CHECK(node.meets(asked(2)).empty());
  CHECK(node.meets(asked(1)) == Lines{"ask to save"});
  CHECK(node.meets(SaveAnswered{70}) == Lines{"tell: in generation 1 node 1 has saved step 70"});
  CHECK(node.meets(SaveAnswered{71}).empty());
  CHECK(node.meets(asked(1)) == Lines{"ask to save"});
  CHECK(node.meets(SaveAnswered{}).empty());
  CHECK(node.after(Millis{99}).empty());
  CHECK(node.agent.next_deadline() == node.now + Millis{1});
  CHECK(node.after(Millis{1}) == Lines{"tell: in generation 1 node 1 cannot save"});
  CHECK_FALSE(node.agent.next_deadline());
  (void)node.meets(asked(1));
  (void)node.is_stopped(1, SIGTERM, Millis{1'000});
  CHECK(node.meets(SaveAnswered{72}).empty());
}

TEST_CASE("agent: a death that is held is not overtaken by the answer that it is") {
  OneNode node = running_node();
  (void)node.meets(SaveGeneration{NodeId{1}, GenerationNumber{1}});
  CHECK(node.ends(0, killed(SIGTERM)).empty());  // perhaps the whole job is to end
  CHECK(node.meets(SaveAnswered{}).empty());
  CHECK(node.after(Millis{100}).empty());
  CHECK(node.after(Millis{400}).size() == 1);
}

TEST_CASE("agent: a worker that ends when it is asked to save has ended first") {
  OneNode node = running_node();
  (void)node.meets(SaveGeneration{NodeId{1}, GenerationNumber{1}});
  (void)node.meets(SaveAnswered{});
  CHECK(node.ends(0, {}) == Lines{"tell: in generation 1 rank 2 succeeded"});
  CHECK(node.after(Millis{100}) == Lines{"tell: in generation 1 node 1 cannot save"});
}

TEST_CASE("agent: a signal by which its node leaves is told as that") {
  AgentOptions leaving;
  leaving.leaving_signals = {SIGTERM, SIGUSR2};
  OneNode node = running_node(leaving);
  CHECK(node.gets(SIGTERM) == Lines{"note: SIGTERM (15): this node asks to leave the job",
                                    "tell: node 0 leaves by SIGTERM (15)"});
  CHECK(node.gets(SIGUSR2).empty());  // the same request
  CHECK(node.gets(SIGINT) ==
        Lines{"note: SIGINT (2): stopping the job; once more kills the workers",
              "tell: stop by SIGINT (2)"});
}

TEST_CASE("agent: a signal that all nodes may get is told as that") {
  AgentOptions evicting;
  evicting.evicting_signals = {SIGTERM};
  OneNode node = running_node(evicting);
  CHECK(node.gets(SIGTERM) == Lines{"note: SIGTERM (15): this node asks to leave the job",
                                    "tell: node 0 leaves by SIGTERM (15), unless all do"});
}

TEST_CASE("agent: a signal that is to let a node leave stops the job at a witness") {
  AgentOptions witness;
  witness.witness = true;
  witness.worker_count = 0;
  witness.leaving_signals = {SIGTERM, SIGUSR1};
  CHECK(OneNode{witness}.gets(SIGTERM).back() == "tell: stop by SIGTERM (15)");
  CHECK(OneNode{witness}.gets(SIGUSR1).back() == "tell: stop by SIGUSR1 (10)");
}

TEST_CASE("agent: signals for workers are those of the nodes that a witness started") {
  AgentOptions witness;
  witness.witness = true;
  witness.worker_count = 0;
  CHECK(OneNode{witness}.gets(SIGUSR1) == Lines{"signal SIGUSR1 (10)"});
  CHECK(OneNode{witness}.gets(SIGTSTP, true) ==
        Lines{"note: ctrl-Z is ignored: the other nodes would take a node that stops for lost"});
}

TEST_CASE("agent: a signal passed on to one generation is not remembered for the next") {
  OneNode node = running_node();
  (void)node.gets(SIGUSR1);
  (void)node.is_stopped(1, SIGTERM, Millis{0});
  (void)node.meets(AllGone{});
  (void)node.store_opens();
  (void)node.starts(2);
  CHECK(node.ends(0, killed(SIGUSR1)).empty());
}

TEST_CASE("agent: a signal that is said twice at once is one request") {
  const Lines hup{"tell: stop by SIGHUP (1)"};
  const Lines interrupt{"note: SIGINT (2): killing the workers", "tell: stop by SIGINT (2)"};
  OneNode node = running_node();
  CHECK(node.meets(SignalArrived{SIGHUP}) ==
        Lines{"note: SIGHUP (1): stopping the job", hup.front()});
  CHECK(node.meets(SignalArrived{SIGHUP}).empty());
  CHECK(node.meets(SignalArrived{SIGINT}) == interrupt);
  CHECK(node.meets(SignalArrived{SIGINT}).empty());
  CHECK(node.after(Millis{200}).empty());
  CHECK(node.meets(SignalArrived{SIGINT}).empty());
  CHECK(node.after(Millis{1}).empty());
  CHECK(node.meets(SignalArrived{SIGINT}) == interrupt);
  CHECK(node.after(Millis{1'001}).empty());
  CHECK(node.meets(SignalArrived{SIGHUP}) == hup);
}

TEST_CASE("agent: once it exits, a signal hurries that unless it says what was said before") {
  OneNode node((AgentOptions()));
  (void)node.store_opens();
  (void)node.gets(SIGTERM);
  CHECK(node.meets(GiveUp{{143, "stopped", {}}}).back() == "exit with status 143: stopped");
  CHECK(node.gets(SIGTERM).empty());
  CHECK(node.gets(SIGUSR1).empty());
  CHECK(node.gets(SIGINT) == Lines{"hurry by SIGINT (2)"});
  CHECK(node.after(Millis{1'001}).empty());
  CHECK(node.gets(SIGTERM) == Lines{"hurry by SIGTERM (15)"});
  CHECK(node.gets(SIGTSTP, true).front().find("hurry") == std::string::npos);
}

}  // namespace
}  // namespace ddprun
