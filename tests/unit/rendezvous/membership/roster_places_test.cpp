#include "tests/unit/rendezvous/membership/roster_kit.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun::roster_story {
namespace {

TEST_CASE("roster: witnesses have places behind those of all nodes") {
  RosterStory story;
  const auto comes = [&](std::int64_t session, AgentId agent) {
    Hello hello = hello_of({agent, 1}, {});
    hello.witness = true;
    return story.meets(Received{{session}, hello});
  };
  CHECK(comes(1, 21) == Lines{"1: welcome node 1000000, 0 voters"});
  CHECK(story.says_hello(2, {22, 1}) == Lines{"2: welcome node 1, 0 voters"});
  CHECK(comes(3, 23) == Lines{"3: welcome node 1000001, 0 voters"});
  CHECK(story.says_hello(4, {24, 1}) == Lines{"4: welcome node 2, 0 voters"});
}

TEST_CASE("roster: agents get the places that they ask for, or the next ones") {
  RosterStory story;
  CHECK(story.greets(1, {11, 1}).empty());
  CHECK(story.greets(2, {12, 1}, NodeId{7}).empty());
  CHECK(story.greets(3, {13, 1}).empty());
  CHECK(story.joins(1) == Lines{"join of node 1"});
  CHECK(story.joins(2) == Lines{"join of node 7"});
  CHECK(story.joins(3) == Lines{"join of node 8"});
}

TEST_CASE("roster: O4 a place that a living agent has is refused, by both names") {
  RosterStory story;
  (void)story.greets(1, {11, 1}, NodeId{2});
  CHECK(story.greets(2, {12, 1}, NodeId{2}) ==
        place_taken(2, "n12 asks for the place of node 2, which n11 has"));
  CHECK(story.greets(3, {13, 1}, NodeId{0}) ==
        refused(3, "n13 asks for the place of node 0, which the coordinator's host n0 has"));
  (void)story.after(4'000);
  CHECK(story.greets(4, {12, 1}, NodeId{2}).empty());  // the first one is lost by now
  CHECK(story.joins(4) == Lines{"join of node 2"});
}

TEST_CASE("roster: O4 an agent that was started again on its host hears who has its place") {
  RosterStory story;
  (void)story.greets(1, {11, 1}, NodeId{2});
  Hello again = hello_of({12, 1}, NodeId{2});
  again.host = "n11";
  CHECK(story.meets(Received{{2}, again}) ==
        place_taken(2, "n11 asks for the place of node 2, which another agent of n11 has"));
}

TEST_CASE("roster: O5 a life that another coordinator has leased must end") {
  RosterStory story;
  Hello hello = hello_of({11, 3}, {});
  hello.coordinator = 99;
  CHECK(story.meets(Received{{1}, hello}) == Lines{"1: forgotten life 3"});
  CHECK(story.beats(1, 1) == Lines{"1: forgotten life 3"});
  CHECK(story.greets(1, {11, 4}).empty());
  CHECK(story.beats(1, 2) == Lines{"1: ack 2 got 0 lead 3000"});
  hello.from.life = 4;
  hello.coordinator = 100;
  CHECK(story.meets(Received{{2}, hello}) == Lines{"close 1", "2: welcome node 1, 0 voters"});
}

TEST_CASE("roster: O5 who comes back when another has its place must end what it has here") {
  RosterStory story;
  (void)story.greets(1, {11, 3});
  CHECK(story.after(4'000) == Lines{"node 1 lost: silent for 4 s"});
  CHECK(story.greets(2, {12, 1}, NodeId{1}).empty());
  CHECK(story.joins(2) == Lines{"join of node 1"});
  Hello hello = hello_of({11, 3}, {});
  hello.coordinator = roster_leader.agent;
  CHECK(story.meets(Received{{3}, hello}) == Lines{"3: forgotten life 3"});
  CHECK(story.greets(3, {11, 4}).empty());
  CHECK(story.joins(3) == Lines{"join of node 2"});
}

TEST_CASE("roster: a refusal says by whom it is") {
  RosterStory story;
  std::vector<RosterAction> actions;
  story.roster.on_event({}, Received{{1}, Hello{{11, 1}, "n1", {}, 2, 4}}, actions);
  REQUIRE(!actions.empty());
  CHECK(std::get<Refused>(std::get<SendDown>(actions[0]).message).by == roster_leader);
}

/// Two nodes may take part, and do: agents 11 and 12.
RosterStory full_job() {
  RosterStory story;
  story.roster = Roster({.leader = roster_leader, .times = usual_times, .nodes_all = 2}, Instant{});
  CHECK(story.greets(1, {11, 1}).empty());
  CHECK(story.greets(2, {12, 1}).empty());
  return story;
}

Hello hello_from(AgentId agent, const std::string& machine) {
  Hello hello = hello_of({agent, 1}, {});
  hello.contact = machine + ":9";
  return hello;
}

TEST_CASE("roster: one node too many is refused, and let in once another one is lost") {
  RosterStory story = full_job();
  const std::string why =
      "n13 is one node too many: 2 take part, as many as --nnodes and --spares allow";
  CHECK(story.greets(3, {13, 1}) == place_taken(3, why));
  CHECK(story.after(4'000).size() == 2);
  CHECK(story.greets(4, {13, 1}).empty());
}

TEST_CASE("roster: one node more may come for each that has asked to leave") {
  RosterStory story = full_job();
  (void)story.meets(Received{{1}, Numbered<News>{1, LeaveRequested{{}, SIGTERM}}});
  CHECK(story.greets(3, {13, 1}).empty());
  CHECK(story.greets(4, {14, 1}).size() == 2);
  (void)story.after(4'000);
  CHECK(story.greets(1, {11, 2}).empty());  // a new life, which has not asked
  CHECK(story.greets(2, {12, 2}).empty());
  CHECK(story.greets(5, {15, 1}).size() == 2);
}

TEST_CASE("roster: who is started again on its machine is none too many, however many are") {
  RosterStory story = full_job();
  (void)story.after(1'100);
  CHECK(story.meets(Received{{3}, hello_from(21, "n11")}).size() == 1);
  CHECK(story.meets(Received{{4}, hello_from(22, "n12")}).size() == 1);
  (void)story.after(1'100);
  CHECK(story.beats(4, 1).size() == 1);
  CHECK(story.meets(Received{{5}, hello_from(31, "n11")}).size() == 1);
}

TEST_CASE("roster: who is heard beside another agent of its machine counts") {
  RosterStory story = full_job();
  CHECK(story.meets(Received{{3}, hello_from(21, "n11")}).size() == 1);
  (void)story.after(1'000);
  CHECK(story.meets(Received{{4}, hello_from(22, "n12")}).size() == 2);
}

TEST_CASE("roster: a place that was only wished for is not insisted on") {
  RosterStory story;
  (void)story.greets(1, {11, 1}, NodeId{3});
  Hello wish = hello_of({12, 1}, NodeId{3});
  wish.any_place = true;
  CHECK(story.meets(Received{{2}, wish}) == Lines{"2: welcome node 4, 0 voters"});
}

}  // namespace
}  // namespace ddprun::roster_story
