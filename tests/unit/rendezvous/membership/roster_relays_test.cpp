#include "tests/unit/rendezvous/membership/roster_kit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::roster_story {
namespace {

/// Groups of three places, once there are more than three agents. The agent of node N is 10 + N,
/// and speaks in session N.
struct RelayedStory : RosterStory {
  RelayedStory() {
    roster = Roster({.leader = roster_leader,
                     .times = usual_times,
                     .relays = {.above = 3, .group_min = 3, .relays_max = 4}},
                    Instant{});
  }
  void come(int first, int last) {
    for (int node = first; node <= last; ++node) {
      (void)greets(node, {static_cast<AgentId>(10 + node), 1}, NodeId{node});
      (void)beats(node, 1);
    }
  }
  /// Those that are not answered otherwise keep on beating.
  Lines tick(const std::vector<int>& living, std::int64_t number) {
    for (const int node : living) (void)beats(node, number);
    return after(500);
  }
  Lines relays(std::int64_t session, std::vector<RelayedBeat> beats) {
    return meets(Received{{session}, BeatBatch{std::move(beats)}});
  }
};

TEST_CASE("roster: a few agents have no relays, of many the first of each group is one") {
  RelayedStory story;
  story.come(1, 3);
  CHECK(story.after(500).empty());
  story.come(4, 7);
  CHECK(story.after(500) == Lines{"2: use relay n11:1",
                                  "4: use relay n13:1",
                                  "5: use relay n13:1",
                                  "7: use relay n16:1"});
  CHECK(story.after(500).empty());  // they are told once
}

TEST_CASE("roster: the next of the group follows a relay that is gone, the first one returns") {
  RelayedStory story;
  story.come(1, 5);
  (void)story.after(500);
  CHECK(story.meets(SessionClosed{{3}}).empty());
  CHECK(story.tick({1, 2, 4, 5}, 2) == Lines{"4: use relay ", "5: use relay n14:1"});
  (void)story.greets(13, {13, 1}, NodeId{3});
  CHECK(story.tick({1, 2, 4, 5}, 3) == Lines{"4: use relay n13:1", "5: use relay n13:1"});
}

TEST_CASE("roster: an agent is told its relay again in each new session") {
  RelayedStory story;
  story.come(1, 5);
  (void)story.after(500);
  (void)story.greets(25, {15, 1}, NodeId{5});
  CHECK(story.after(500) == Lines{"25: use relay n13:1"});
}

TEST_CASE("roster: who has no lease yet, and a witness, are no relays and have none") {
  RelayedStory story;
  story.come(1, 4);
  Hello witness = hello_of({30, 1}, {});
  witness.witness = true;
  (void)story.meets(Received{{30}, witness});
  (void)story.beats(30, 1);
  (void)story.greets(5, {15, 1}, NodeId{5});
  CHECK(story.after(500) == Lines{"2: use relay n11:1", "4: use relay n13:1"});
}

TEST_CASE("roster: groups double while there are more of them than relays may be") {
  RelayedStory story;
  story.come(1, 16);  // more than four groups of three
  const Lines lines = story.after(500);
  CHECK(std::ranges::count(lines, "5: use relay n11:1") == 1);
  CHECK(std::ranges::count(lines, "7: use relay n16:1") == 1);
  CHECK(std::ranges::count(lines, "13: use relay n22:1") == 1);
}

TEST_CASE("roster: heartbeats of a batch are answered, and count like others") {
  RelayedStory story;
  story.come(1, 4);
  for (std::int64_t number = 2; number < 12; ++number) {
    CHECK(story.relays(3, {{{13, 1}, {number, 0}}, {{14, 1}, {number, 0}}}) ==
          Lines{"3: answers 13:" + std::to_string(number) + " 14:" + std::to_string(number)});
    (void)story.after(500);
  }
  CHECK(story.joins(4) == Lines{"join of node 4"});
  CHECK(story.joins(1) == Lines{"1: forgotten life 1"});  // nobody has sent one for it
}

TEST_CASE("roster: O2 a batch is no answer to a life that is lost, another one, or nobody") {
  RelayedStory story;
  story.come(1, 4);
  CHECK(story.relays(3, {{{14, 2}, {2, 0}}, {{99, 1}, {2, 0}}}) == Lines{"3: answers"});
  for (std::int64_t number = 2; number < 10; ++number) (void)story.tick({3}, number);
  CHECK(story.relays(3, {{{14, 1}, {2, 0}}}) == Lines{"3: answers"});
  CHECK(story.relays(4, {{{13, 1}, {2, 0}}}) == Lines{"4: forgotten life 1"});
}

TEST_CASE("roster: who has not confirmed an instruction is not answered through a relay") {
  RelayedStory story;
  story.come(1, 4);
  CHECK(story.instructs(4) == Lines{"4: instruction 1"});
  CHECK(story.relays(3, {{{13, 1}, {2, 0}}, {{14, 1}, {2, 0}}}) == Lines{"3: answers 13:2"});
  CHECK(story.relays(3, {{{14, 1}, {3, 1}}}) == Lines{"3: answers 14:3"});
}

}  // namespace
}  // namespace ddprun::roster_story
