#include "rendezvous/generations/voters.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace ddprun {
namespace {

/// Voters 1 to `count`, of whom 1 was the head.
Voters ordered_voters(int count) {
  Voters voters;
  for (int i = 1; i <= count; ++i) {
    const std::string host = "n" + std::to_string(i);
    voters.all.push_back({static_cast<AgentId>(i), NodeId{i}, host, host + ":1"});
  }
  voters.head = 1;
  return voters;
}

TEST_CASE("voters: more than half are a majority, and strangers do not count") {
  CHECK(ordered_voters(3).is_majority({2, 3}));
  CHECK_FALSE(ordered_voters(3).is_majority({2}));
  CHECK_FALSE(ordered_voters(3).is_majority({2, 8, 9}));
  CHECK(ordered_voters(7).is_majority({4, 5, 6, 7}));
  CHECK(ordered_voters(1).is_majority({1}));
  CHECK_FALSE(ordered_voters(0).is_majority({}));
  CHECK_FALSE(ordered_voters(0).is_majority({1}));
}

TEST_CASE("voters: of two halves the one with the head is a majority, the other is not") {
  CHECK(ordered_voters(2).is_majority({1}));
  CHECK_FALSE(ordered_voters(2).is_majority({2}));
  CHECK(ordered_voters(4).is_majority({1, 4}));
  CHECK_FALSE(ordered_voters(4).is_majority({2, 3}));
  CHECK(ordered_voters(4).is_majority({2, 3, 4}));
  Voters headless = ordered_voters(4);
  headless.head = 9;  // gave its place to somebody else: nobody has an advantage
  CHECK_FALSE(headless.is_majority({9, 1, 2}));
}

TEST_CASE("voters: two majorities always have a voter in common") {
  for (int count = 1; count <= 7; ++count) {
    const Voters voters = ordered_voters(count);
    const auto set_of = [&](int bits) {
      std::set<AgentId> agents;
      for (int i = 0; i < count; ++i) {
        if ((bits >> i) & 1) agents.insert(static_cast<AgentId>(i) + 1);
      }
      return agents;
    };
    for (int bits = 0; bits < 1 << count; ++bits) {
      const int others = (1 << count) - 1 - bits;
      CHECK_FALSE((voters.is_majority(set_of(bits)) && voters.is_majority(set_of(others))));
    }
  }
}

TEST_CASE("voters: a majority was heard when the last one that makes it so was") {
  const Voters voters = ordered_voters(3);
  CHECK_FALSE(voters.heard_by_majority({}));
  CHECK_FALSE(voters.heard_by_majority({{1, Instant{5}}, {9, Instant{7}}}));
  CHECK(voters.heard_by_majority({{1, Instant{5}}, {2, Instant{3}}}) == Instant{3});
  CHECK(voters.heard_by_majority({{1, Instant{5}}, {2, Instant{3}}, {3, Instant{4}}}) ==
        Instant{4});
}

TEST_CASE("voters: they stand in their order, the head last") {
  const Voters voters = ordered_voters(4);
  CHECK(voters.place_of(2) == 0);
  CHECK(voters.place_of(3) == 1);
  CHECK(voters.place_of(4) == 2);
  CHECK(voters.place_of(1) == 3);
}

TEST_CASE("voters: two cannot outlive their head, three can") {
  CHECK_FALSE(ordered_voters(1).outlive_head());
  CHECK_FALSE(ordered_voters(2).outlive_head());
  CHECK(ordered_voters(3).outlive_head());
  CHECK(ordered_voters(4).outlive_head());
}

/// Voters 1 to `count`, who claim.
Voters claiming_voters(int count) {
  Voters voters = ordered_voters(count);
  voters.claim = true;
  return voters;
}

TEST_CASE("voters: where they claim, all of them decide, and nobody less") {
  CHECK(claiming_voters(1).is_majority({1}));
  CHECK(claiming_voters(3).is_majority({1, 2, 3, 9}));
  CHECK_FALSE(claiming_voters(3).is_majority({1, 2}));
  CHECK_FALSE(claiming_voters(2).is_majority({1}));  // the head has no advantage
  CHECK_FALSE(claiming_voters(0).is_majority({1}));
}

TEST_CASE("voters: where they claim, the first to fall silent counts") {
  const Voters voters = claiming_voters(3);
  CHECK_FALSE(voters.heard_by_majority({{1, Instant{9}}, {2, Instant{8}}}));
  CHECK(voters.heard_by_majority({{1, Instant{9}}, {2, Instant{4}}, {3, Instant{6}}}) ==
        Instant{4});
}

TEST_CASE("voters: where they claim, any other that is left goes on") {
  CHECK_FALSE(claiming_voters(1).outlive_head());
  CHECK(claiming_voters(2).outlive_head());
  CHECK(claiming_voters(2).outlive({2}));
  CHECK(claiming_voters(1).outlive({7}));  // no voter
  CHECK_FALSE(claiming_voters(0).outlive({7}));
}

TEST_CASE("voters: where they vote, the head may outlive what its majority needs it for") {
  CHECK(ordered_voters(2).outlive({2}));
  CHECK_FALSE(ordered_voters(2).outlive({1}));
  CHECK(ordered_voters(3).outlive({1}));
}

TEST_CASE("voters: they are found by process, not by node") {
  const Voters voters = ordered_voters(2);
  CHECK(voters.find(2)->host == "n2");
  CHECK(voters.find(7) == nullptr);
  CHECK_FALSE(voters.contains(7));
}

}  // namespace
}  // namespace ddprun
