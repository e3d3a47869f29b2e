#include "rendezvous/roster.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

using Lines = std::vector<std::string>;

std::string text_of(const ToAgent& message) {
  if (const auto* ack = std::get_if<Ack>(&message)) {
    return fmt::format("ack {} got {} lead {}", ack->answers, ack->received, ack->lead.count);
  }
  if (const auto* forgotten = std::get_if<Forgotten>(&message)) {
    return fmt::format("forgotten life {}", forgotten->who.life);
  }
  if (const auto* refused = std::get_if<Refused>(&message)) return "refused: " + refused->why;
  return fmt::format("instruction {}", std::get<Numbered<Instruction>>(message).number);
}

std::string text_of(const RosterAction& action) {
  if (const auto* send = std::get_if<SendDown>(&action)) {
    return fmt::format("{}: {}", send->session, text_of(send->message));
  }
  if (const auto* close = std::get_if<CloseSession>(&action)) {
    return fmt::format("close {}{}{}", close->session, close->why.empty() ? "" : ": ", close->why);
  }
  const CoordinatorEvent& event = std::get<Report>(action).event;
  if (const auto* join = std::get_if<Join>(&event)) {
    return fmt::format("join of node {}", join->offer.node.value);
  }
  if (const auto* lost = std::get_if<NodeLost>(&event)) {
    return fmt::format("node {} lost: {}", lost->node.value, lost->why);
  }
  return "other news";
}

/// Tells the story of a coordinator on node 0 whose agents are dead after 4 s of silence. Each verb
/// returns what had to be done.
struct Story {
  Roster roster{RosterOptions{}, Instant{}};
  Instant now;

  Lines meets(const RosterEvent& event) {
    std::vector<RosterAction> actions;
    roster.on_event(now, event, actions);
    Lines lines;
    for (const RosterAction& action : actions) lines.push_back(text_of(action));
    return lines;
  }
  Lines greets(SessionId session, Incarnation from, std::optional<NodeId> node = {}) {
    return meets(Received{session, Hello{from, fmt::format("n{}", from.agent), node}});
  }
  Lines beats(SessionId session, std::int64_t number, std::int64_t received = 0) {
    return meets(Received{session, Heartbeat{number, received}});
  }
  Lines joins(SessionId session, std::int64_t number = 1) {
    return meets(Received{session, Numbered<News>{number, Join{}}});
  }
  Lines instructs(int node) {
    return meets(Instruct{StopGeneration{NodeId{node}, GenerationNumber{1}, SIGTERM, Millis{0}}});
  }
  /// Ticks all the way, as the shell does.
  Lines after(std::int64_t time) {
    Lines lines;
    const Instant until = now + Millis{time};
    while (*roster.next_deadline() <= until) {
      now = *roster.next_deadline();
      const Lines more = meets(Timeout{});
      lines.insert(lines.end(), more.begin(), more.end());
    }
    now = until;
    return lines;
  }
};

TEST_CASE("roster: agents get the places that they ask for, or the next ones") {
  Story story;
  CHECK(story.greets(1, {11, 1}).empty());
  CHECK(story.greets(2, {12, 1}, NodeId{7}).empty());
  CHECK(story.greets(3, {13, 1}).empty());
  CHECK(story.joins(1) == Lines{"join of node 1"});
  CHECK(story.joins(2) == Lines{"join of node 7"});
  CHECK(story.joins(3) == Lines{"join of node 8"});
}

Lines refused(SessionId session, const std::string& why) {
  return {fmt::format("{}: refused: {}", session, why), fmt::format("close {}: {}", session, why)};
}

TEST_CASE("roster: O4 a place that a living agent has is refused, by both names") {
  Story story;
  (void)story.greets(1, {11, 1}, NodeId{2});
  CHECK(story.greets(2, {12, 1}, NodeId{2}) ==
        refused(2, "n12 asks for the place of node 2, which n11 has"));
  CHECK(story.greets(3, {13, 1}, NodeId{0}) ==
        refused(3, "n13 asks for the place of the coordinator's own node"));
  (void)story.after(4'000);
  CHECK(story.greets(4, {12, 1}, NodeId{2}).empty());  // the first one is lost by now
  CHECK(story.joins(4) == Lines{"join of node 2"});
}

TEST_CASE("roster: heartbeats are answered, and silence alone makes a node lost") {
  Story story;
  (void)story.greets(1, {11, 1});
  CHECK(story.beats(1, 1) == Lines{"1: ack 1 got 0 lead 3000"});
  CHECK(story.after(3'500).empty());
  CHECK(story.beats(1, 2) == Lines{"1: ack 2 got 0 lead 3000"});
  CHECK(story.meets(SessionClosed{1}).empty());
  CHECK(story.after(3'500).empty());
  CHECK(story.after(500) == Lines{"node 1 lost: silent for 4 s"});
  CHECK(story.after(60'000).empty());  // once
}

TEST_CASE("roster: O1 of a lost life nothing is passed on, and it is told to end") {
  Story story;
  (void)story.greets(1, {11, 1});
  (void)story.after(4'000);
  CHECK(story.joins(1) == Lines{"1: forgotten life 1"});
  CHECK(story.beats(1, 9) == Lines{"1: forgotten life 1"});
  CHECK(story.greets(2, {11, 1}) == Lines{"2: forgotten life 1"});
  CHECK(story.greets(2, {11, 2}) == Lines{"close 1"});
  CHECK(story.joins(2) == Lines{"join of node 1"});  // its place is still its own
  CHECK(story.beats(1, 10).empty());
}

TEST_CASE("roster: O1 a new life waits until the old one is lost") {
  Story story;
  (void)story.greets(1, {11, 1});
  CHECK(story.greets(2, {11, 2}).empty());
  CHECK(story.joins(2).empty());
  CHECK(story.after(4'000) == Lines{"node 1 lost: silent for 4 s"});
  (void)story.greets(2, {11, 2});
  CHECK(story.joins(2) == Lines{"join of node 1"});
}

TEST_CASE("roster: O3 instructions are said again on a new connection, until they are confirmed") {
  Story story;
  (void)story.greets(1, {11, 1});
  CHECK(story.instructs(1) == Lines{"1: instruction 1"});
  CHECK(story.instructs(1) == Lines{"1: instruction 2"});
  CHECK(story.beats(1, 1, 1) == Lines{"1: ack 1 got 0 lead 3000"});
  CHECK(story.greets(2, {11, 1}) == Lines{"close 1", "2: instruction 2"});
  (void)story.after(500);
  CHECK(story.beats(2, 2, 1) == Lines{"2: instruction 2", "2: ack 2 got 0 lead 3000"});
  CHECK(story.beats(2, 3, 2) == Lines{"2: ack 3 got 0 lead 3000"});
}

TEST_CASE("roster: O3 an instruction waits for a connection, and is dropped with the life") {
  Story story;
  CHECK(story.instructs(1).empty());  // nobody is there
  (void)story.greets(1, {11, 1});
  (void)story.meets(SessionClosed{1});
  CHECK(story.instructs(1).empty());
  CHECK(story.greets(2, {11, 1}) == Lines{"2: instruction 1"});
  (void)story.after(4'000);
  (void)story.greets(3, {11, 2});
  CHECK(story.beats(3, 1) == Lines{"3: ack 1 got 0 lead 3000"});
}

TEST_CASE("roster: news are passed on once and in order") {
  Story story;
  (void)story.greets(1, {11, 1});
  CHECK(story.joins(1, 2).empty());
  CHECK(story.joins(1, 1).size() == 1);
  CHECK(story.joins(1, 1).empty());
  CHECK(story.joins(1, 2).size() == 1);
  CHECK(story.beats(1, 1) == Lines{"1: ack 1 got 2 lead 3000"});
}

TEST_CASE("roster: while the coordinator itself is held up, nobody's silence counts") {
  Story story;
  (void)story.greets(1, {11, 1});
  (void)story.beats(1, 1);
  story.now = Instant{9'000};  // SIGSTOP, a hung disk
  CHECK(story.meets(Timeout{}).empty());
  CHECK(story.beats(1, 2).size() == 1);  // was in the socket all the time
  CHECK(story.after(3'500).empty());
  CHECK(story.after(500).size() == 1);
}

TEST_CASE("roster: strangers without a greeting, and more agents than allowed, get nowhere") {
  Story story;
  story.roster = Roster(RosterOptions{.agents_max = 1}, Instant{});
  CHECK(story.beats(5, 1).empty());
  CHECK(story.joins(5).empty());
  CHECK(story.meets(SessionClosed{5}).empty());
  (void)story.greets(1, {11, 1});
  CHECK(story.greets(2, {12, 1}) == refused(2, "there are too many agents already"));
}

TEST_CASE("roster: O5 a life that another coordinator has leased must end") {
  Story story;
  Hello hello{{11, 3}, "n1", {}};
  hello.coordinator = 99;
  CHECK(story.meets(Received{1, hello}) == Lines{"1: forgotten life 3"});
  CHECK(story.beats(1, 1) == Lines{"1: forgotten life 3"});
  CHECK(story.greets(1, {11, 4}).empty());
  CHECK(story.beats(1, 2) == Lines{"1: ack 2 got 0 lead 3000"});
  hello.from.life = 4;
  hello.coordinator = RosterOptions{}.id;
  CHECK(story.meets(Received{2, hello}) == Lines{"close 1"});
}

TEST_CASE("roster: an agent that was told another time until nodes are lost is refused") {
  Story story;
  CHECK(story.meets(Received{1, Hello{{11, 1}, "n1", {}, 1, 1, Millis{1'500}}}) ==
        refused(1, "n1 was started with --dead-after 1.5s, the coordinator with 4s"));
}

TEST_CASE("roster: what a sleeping coordinator adds to its patience is no word from an agent") {
  Story story;
  (void)story.greets(1, {11, 1}, NodeId{2});
  story.now = Instant{20'000};
  CHECK(story.meets(Timeout{}).empty());
  const auto actions = [&] {
    std::vector<RosterAction> out;
    story.roster.on_event(story.now, Received{2, Hello{{12, 1}, "n12", NodeId{2}}}, out);
    return out;
  }();
  REQUIRE(!actions.empty());
  const auto& refusal = std::get<Refused>(std::get<SendDown>(actions[0]).message);
  CHECK(refusal.holder_silent == Millis{20'000});
}

TEST_CASE("roster: an agent that was told another number of nodes is refused, with both") {
  Story story;
  CHECK(story.meets(Received{1, Hello{{11, 1}, "n1", {}, 2, 4}}) ==
        refused(1, "n1 was started with --nnodes 2:4, the coordinator with 1:1"));
}

}  // namespace
}  // namespace ddprun
