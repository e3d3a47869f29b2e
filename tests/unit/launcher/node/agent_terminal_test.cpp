// The agent at a terminal: ctrl-C and ctrl-Z.
#include "launcher/node/agent.hpp"
#include "tests/unit/launcher/node/agent_kit.hpp"

#include <doctest/doctest.h>

#include <csignal>

namespace ddprun {
namespace {

using namespace agent_story;

/// Rank 3, its second worker, has the terminal.
AgentOptions debugging() {
  AgentOptions options;
  options.terminal.rank = Rank{3};
  return options;
}

const std::string left_to_it =
    "note: ctrl-C goes to rank 3, which has the terminal; three times within 2 s stops the job";

Lines presses(OneNode& node, Millis after = Millis{0}) {
  node.now = node.now + after;
  return node.gets(SIGINT, true);
}

TEST_CASE("agent: ctrl-C is of the worker that has the terminal, however often, if not in a row") {
  OneNode node = running_node(debugging());
  CHECK(presses(node) == Lines{left_to_it});
  CHECK(presses(node, Millis{1'500}).empty());
  CHECK(presses(node, Millis{1'500}).empty());
  CHECK(presses(node, Millis{1'500}).empty());
  CHECK(presses(node, Millis{60'000}).empty());
  CHECK_FALSE(node.agent.next_deadline());
}

TEST_CASE("agent: ctrl-C three times in a row stops the job, and once more kills") {
  OneNode node = running_node(debugging());
  CHECK(presses(node) == Lines{left_to_it});
  CHECK(presses(node, Millis{1'000}).empty());
  CHECK(presses(node, Millis{1'000}) == told_stop_int);
  CHECK(node.is_stopped(1, SIGINT, Millis{10'000}) == Lines{"signal SIGINT (2)"});
  CHECK(presses(node, Millis{300}) ==
        Lines{"note: SIGINT (2): killing the workers", "tell: stop by SIGINT (2)"});
}

TEST_CASE("agent: who has the terminal and fails soon after ctrl-C was ended by it") {
  for (const WorkerEnd& end : {killed(SIGINT), WorkerEnd{WorkerEnd::Kind::exited, 1}}) {
    OneNode node = running_node(debugging());
    (void)presses(node);
    node.now = node.now + Millis{10'000};
    CHECK(node.ends(1, end) == told_stop_int);
  }
  OneNode well = running_node(debugging());
  (void)presses(well);
  CHECK(well.ends(1, {WorkerEnd::Kind::exited, 0}) ==
        Lines{"tell: in generation 1 rank 3 succeeded"});
  OneNode later = running_node(debugging());
  (void)presses(later);
  later.now = later.now + Millis{10'001};
  CHECK(later.ends(1, {WorkerEnd::Kind::exited, 1}).empty());
  CHECK(later.after(Millis{49}).empty());
  CHECK(later.after(Millis{1}) ==
        Lines{"tell: in generation 1 rank 3 (pid 71 on n1) exited with 1"});
  OneNode heard_late = running_node(debugging());
  CHECK(heard_late.ends(1, {WorkerEnd::Kind::exited, 1}).empty());
  CHECK(presses(heard_late, Millis{40}) == told_stop_int);
  OneNode other = running_node(debugging());
  (void)presses(other);
  CHECK(other.ends(0, {WorkerEnd::Kind::exited, 1}) ==
        Lines{"tell: in generation 1 rank 2 (pid 70 on n1) exited with 1"});
}

TEST_CASE("agent: ctrl-C of one generation ends no worker of the next") {
  OneNode node = running_node(debugging());
  (void)presses(node);
  (void)node.is_stopped(1, SIGTERM, Millis{0});
  (void)node.meets(AllGone{});
  (void)node.store_opens();
  (void)node.starts(2);
  CHECK(node.ends(1, {WorkerEnd::Kind::exited, 1}).empty());
  CHECK(node.after(Millis{50}) ==
        Lines{"tell: in generation 2 rank 3 (pid 71 on n1) exited with 1"});
}

TEST_CASE("agent: ctrl-C stops the job where no living worker has the terminal") {
  AgentOptions elsewhere;
  elsewhere.terminal.rank = Rank{4};
  OneNode node = running_node(elsewhere);
  CHECK(presses(node) == told_stop_int);
  OneNode ended = running_node(debugging());
  (void)ended.ends(1, {WorkerEnd::Kind::exited, 0});
  CHECK(presses(ended) == told_stop_int);
  OneNode by_kill = running_node(debugging());
  CHECK(by_kill.gets(SIGINT) == told_stop_int);
}

TEST_CASE("agent: a key's signal is not sent again to the one worker, which shares the terminal") {
  AgentOptions sharing;
  sharing.terminal.rank = Rank{3};
  OneNode by_key = running_node(sharing);
  (void)by_key.ends(0, {WorkerEnd::Kind::exited, 0});
  CHECK(by_key.gets(SIGQUIT, true).back() == "tell: stop by SIGQUIT (3)");
  CHECK(by_key.is_stopped(1, SIGQUIT, Millis{10'000}).empty());
  CHECK(by_key.after(Millis{10'000}).back() == "kill all");

  OneNode by_kill = running_node(sharing);
  CHECK(by_kill.gets(SIGQUIT).back() == "tell: stop by SIGQUIT (3)");
  CHECK(by_kill.is_stopped(1, SIGQUIT, Millis{10'000}) == Lines{"signal SIGQUIT (3)"});

  OneNode in_groups_of_their_own = running_node();
  CHECK(in_groups_of_their_own.gets(SIGINT, true) == told_stop_int);
  CHECK(in_groups_of_their_own.is_stopped(1, SIGINT, Millis{10'000}) == Lines{"signal SIGINT (2)"});
}

TEST_CASE("agent: ctrl-Z suspends the node, and its grace waits meanwhile") {
  AgentOptions alone;
  alone.can_be_suspended = true;
  OneNode node = running_node(alone);
  CHECK(node.gets(SIGTSTP, true) == Lines{"suspend"});
  CHECK(node.meets(Resumed{Millis{60'000}}).empty());
  CHECK_FALSE(node.agent.next_deadline());
  (void)node.is_stopped(1, SIGTERM, Millis{10'000});
  CHECK(node.gets(SIGTSTP, true) == Lines{"suspend"});
  node.now = node.now + Millis{60'000};
  CHECK(node.meets(Resumed{Millis{60'000}}).empty());
  CHECK(node.after(Millis{9'999}).empty());
  CHECK(node.after(Millis{1}).back() == "kill all");
}

TEST_CASE("agent: a node alone stops with its worker that lacks the terminal") {
  AgentOptions alone;
  alone.can_be_suspended = true;
  CHECK(running_node(alone).meets(WorkerLacksTerminal{}) == Lines{"ask for suspension"});
  CHECK(running_node().meets(WorkerLacksTerminal{}).empty());
}

TEST_CASE("agent: a node that others wait for ignores ctrl-Z, and so does who has its terminal") {
  const std::string ignored =
      "note: ctrl-Z is ignored: the other nodes would take a node that stops for lost";
  OneNode node = running_node();
  CHECK(node.gets(SIGTSTP, true) == Lines{ignored});
  OneNode with_terminal = running_node(debugging());
  CHECK(with_terminal.gets(SIGTSTP, true) == Lines{"signal SIGCONT (18)", ignored});
}

}  // namespace
}  // namespace ddprun
