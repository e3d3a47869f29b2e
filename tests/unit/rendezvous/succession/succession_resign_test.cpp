// A leader that leaves in order: no worker lives, and it names who is to lead after it.
#include "tests/unit/rendezvous/succession/succession_kit.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

using namespace succession_story;

/// n1, which leads in epoch 2, and was just heard by n2.
SuccessionStory leading_and_heard() {
  SuccessionStory story = leading();
  (void)story.is_followed(2, 2, story.now);
  return story;
}

SteppedDown resigned_for(int node) {
  return {voter(0).agent, Epoch{1}, Millis{0}, voter(node).agent, {{NodeId{0}}, 2}};
}

TEST_CASE("succession: who hands over tells all voters for whom it resigns, and steps down") {
  SuccessionStory story = leading_and_heard();
  CHECK(story.meets(HandOver{{NodeId{1}}}) ==
        Lines{"n0: resigned in 2 for 3", "n2: resigned in 2 for 3", "step down", "unfollow"});
  CHECK(story.succession.next_deadline() == std::nullopt);  // it never stands again
  CHECK(story.is_asked(2, 3, record_of(3)) == Lines{"n2: vote 3"});
}

TEST_CASE("succession: who was heard after it resigned says so again") {
  SuccessionStory story = leading_and_heard();
  (void)story.meets(HandOver{{NodeId{1}}});
  CHECK(story.hears(Following{voter(2).agent, Epoch{2}, story.now, record_of(3).id()}) ==
        Lines{"n2: resigned in 2 for 3"});
}

TEST_CASE("succession: nobody hands over to who leaves or lacks the record") {
  SuccessionStory leaves = leading_and_heard();
  CHECK(leaves.meets(HandOver{{NodeId{1}, NodeId{2}}}) == Lines{"the lead is kept"});
  SuccessionStory lacks = leading();
  CHECK(lacks.meets(HandOver{{NodeId{1}}}) == Lines{"the lead is kept"});
  SuccessionStory founder(0);
  CHECK(founder.meets(HandOver{{NodeId{0}}}) == Lines{"the lead is kept"});
}

TEST_CASE("succession: who hands over rather names one that it has heard lately") {
  SuccessionStory story = leading(5);
  (void)story.is_followed(2, 2, story.now);
  story.now = story.now + usual_times.heartbeat * 4;
  CHECK(story.meets(HandOver{{NodeId{1}}}).at(1) == "n2: resigned in 2 for 3");
  SuccessionStory other = leading(5);
  (void)other.is_followed(2, 2, other.now);
  other.now = other.now + usual_times.heartbeat * 4;
  (void)other.is_followed(3, 2, other.now);
  CHECK(other.meets(HandOver{{NodeId{1}}}).at(1) == "n2: resigned in 2 for 4");
}

TEST_CASE("succession: who is named stands at once, and says that the leader has resigned") {
  SuccessionStory story = following();
  story.now = Instant{500};
  CHECK(story.hears(resigned_for(1)) == Lines{"unfollow"});
  CHECK(story.succession.next_deadline() == story.now);
  std::vector<SuccessionAction> actions;
  story.succession.on_event(story.now, SuccessionTimeout{}, actions);
  const auto* send = std::get_if<SendBallot>(&actions.front());
  REQUIRE(send != nullptr);
  CHECK(std::get<VoteRequest>(send->ballot).resigned == Resignation{1, Epoch{1}});
  actions.clear();
  const Vote vote{voter(2).agent, Epoch{2}, story.now};
  story.succession.on_event(story.now, BallotArrived{vote}, actions);
  const auto* lead = std::get_if<TakeLead>(&actions.front());
  REQUIRE(lead != nullptr);
  CHECK(lead->old_head_heard == story.now);
  CHECK(lead->legacy == Legacy{{NodeId{0}}, 2});
}

TEST_CASE("succession: who is not named waits for its turn") {
  SuccessionStory story = following();
  story.now = Instant{500};
  (void)story.hears(resigned_for(2));
  CHECK(story.succession.next_deadline() == story.now + usual_times.lease / 4);
}

TEST_CASE("succession: who is named does not stand while its workers live") {
  SuccessionStory story = following();
  (void)story.meets(WorkersStarted{});
  (void)story.hears(resigned_for(1));
  CHECK(story.succession.next_deadline() == std::nullopt);
}

TEST_CASE("succession: V2 who hears of a candidate first that its leader has resigned votes") {
  SuccessionStory story = following();
  story.now = Instant{500};
  VoteRequest request{voter(2), Epoch{2}, Instant{88}, record_of(3).id(), {}, {}, {}};
  request.electors = {record_of(3).record.voters};
  for (const Resignation& other : {Resignation{1, Epoch{3}}, Resignation{2, Epoch{1}}}) {
    request.resigned = other;
    CHECK(story.hears(request) == Lines{"n2: refuse 1"});
  }
  request.resigned = {1, Epoch{1}};
  VoteRequest of_another_job = request;
  of_another_job.founding = {Epoch{1}, 1};
  of_another_job.electors = {Voters{{voter(2)}, 3}};  // which does not ask this process
  CHECK(story.hears(of_another_job) == Lines{"n2: refuse 1"});
  CHECK(story.hears(request) == Lines{"unfollow", "n2: vote 2"});
}

TEST_CASE("succession: of who resigned in an epoch that is over nobody is free") {
  SuccessionStory story = following();
  story.now = Instant{500};
  (void)story.is_led(leader_on(0, 2));
  CHECK(story.hears(resigned_for(1)).empty());
  CHECK(story.is_asked(2, 3, record_of(3)) == Lines{"n2: refuse 2"});
}

TEST_CASE("succession: who is named and is not elected stands in its turn from then on") {
  SuccessionStory story = following();
  (void)story.hears(resigned_for(1));
  (void)story.at(0);
  REQUIRE(story.succession.state() == Succession::State::standing);
  (void)story.at(1'500);
  REQUIRE(story.succession.state() == Succession::State::following);
  CHECK(*story.succession.next_deadline() >= story.now + usual_times.lease / 4);
}

}  // namespace
}  // namespace ddprun
