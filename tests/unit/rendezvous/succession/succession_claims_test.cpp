// The leader where voters claim: when it claims which place, and for how long it leads meanwhile.
#include "tests/unit/rendezvous/succession/claims_kit.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace ddprun {
namespace {

using namespace claims_story;

TEST_CASE("succession: a record is claimed once all its voters have accepted it") {
  ClaimsStory story = proposing();
  CHECK(story.is_followed(1, 1, Instant{0}).empty());
  CHECK(story.is_followed(2, 1, Instant{0}) == Lines{"claim 1 with 1 for n0 n1 n2"});
  CHECK(story.is_followed(2, 1, Instant{0}).empty());  // once
  CHECK_FALSE(story.known().decided);
  CHECK(story.has_claimed() == Lines{"lead until 3000",
                                     "3 voters",
                                     "decided 1",
                                     "n1: leading 1 with 1",
                                     "n2: leading 1 with 1"});
  CHECK(story.known().decided);
  CHECK(story.succession.reason() ==
        "n0 leads; if it is lost, any of 2 other voters claims the job in /shared/claims");
}

TEST_CASE("succession: what is claimed says that it is decided, and is the record all accepted") {
  ClaimsStory story = proposing();
  (void)story.is_followed(1, 1, Instant{0});
  std::vector<SuccessionAction> actions;
  const Ballot last = Following{voter(2).agent, Epoch{1}, Instant{0}, story.known_id()};
  story.succession.on_event(story.now, BallotArrived{last}, actions);
  Knowledge expected = story.known();
  expected.decided = true;
  CHECK(actions.back() == SuccessionAction(FolderTask(ClaimPlace{expected})));
}

TEST_CASE("succession: who has not accepted after half the time to a loss is left out of a claim") {
  ClaimsStory story = proposing();
  (void)story.is_followed(1, 1, Instant{0});
  (void)story.at(1'999);
  (void)story.is_followed(1, 1, Instant{1'999});
  const Lines lines = story.at(2'499);
  CHECK(lines.back() == "claim 1 with 1 for n0 n1");
  CHECK(found_in(story.has_claimed(), "2 voters"));
  CHECK(story.succession.lead_end() == Instant{4'999});  // n2's silence does not end it
}

TEST_CASE("succession: a founder that nobody answers claims for itself, and leads for ever") {
  ClaimsStory story = proposing();
  CHECK(story.at(2'000).back() == "claim 1 with 1 for n0");
  CHECK(found_in(story.has_claimed(), "lead for ever"));
  CHECK(story.succession.reason() ==
        "n0 leads; its loss ends the job: no other node may claim it in /shared/claims");
}

TEST_CASE("succession: the next record is claimed as the next place") {
  ClaimsStory story = claimed();
  (void)story.proposes({0, 1}, 2);
  CHECK(story.known().place == Place{{voter(0).agent}, 2});
  CHECK(story.is_followed(1, 1, Instant{0}).back() == "claim 2 with 2 for n0 n1");
}

TEST_CASE("succession: a record that takes the place of one never claimed gets the same place") {
  ClaimsStory story = claimed();
  (void)story.proposes({0, 1, 2}, 2);
  (void)story.is_followed(1, 1, Instant{0});
  (void)story.proposes({0, 1}, 3);
  CHECK(story.known().place == Place{{voter(0).agent}, 2});
  CHECK(story.is_followed(1, 1, Instant{0}).back() == "claim 2 with 3 for n0 n1");
}

TEST_CASE("succession: what is proposed during a claim waits for it") {
  ClaimsStory story = claimed();
  (void)story.proposes({0, 1}, 2);
  (void)story.is_followed(1, 1, Instant{0});
  ClaimsStory failed = story;
  CHECK(story.proposes({0, 2}, 3).empty());
  CHECK(story.known_id().number == GenerationNumber{2});
  CHECK(found_in(story.has_claimed(), "decided 2"));
  CHECK(story.known_id().number == GenerationNumber{3});
  CHECK(story.known().place->number == 3);
  CHECK(failed.proposes({0, 2}, 3).empty());
  (void)failed.has_not_reached();
  CHECK(failed.known_id().number == GenerationNumber{3});
  CHECK(failed.known().place->number == 2);
}

TEST_CASE("succession: only members of a record may claim after it") {
  ClaimsStory story = claimed();
  Generation next = record_with({0, 1}, 2);
  next.voters.all.push_back(voter(7));  // a witness, or one that came too late
  (void)story.meets(Propose{next});
  CHECK(story.known().record.voters.all == std::vector{voter(0), voter(1)});
}

TEST_CASE("succession: whom a proposal names bounds the lead before it is sent to anybody") {
  ClaimsStory story = claimed();
  story.now = Instant{2'000};
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{1'900});
  CHECK(story.succession.lead_end() == Instant{4'900});
  (void)story.proposes({0, 1, 3}, 2);
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{2'500});
  CHECK(story.succession.lead_end() == Instant{4'900});  // as long as n3 has not answered
  (void)story.is_followed(3, 1, Instant{2'200});
  CHECK(story.succession.lead_end() == Instant{5'200});
}

TEST_CASE("succession: a founder leads for a lease from its first proposal, and then by answers") {
  ClaimsStory story(0);
  (void)story.opens();
  story.now = Instant{1'000};
  (void)story.proposes({0, 1}, 1);
  CHECK(story.succession.lead_end() == Lead::forever);
  CHECK(story.is_surveyed(1).front() == "lead until 4000");
}

TEST_CASE(
    "succession: while it claims, a leader leads for those of the last claim and of this one") {
  ClaimsStory story = claimed();
  story.now = Instant{1'000};
  (void)story.is_followed(1, 1, Instant{900});
  (void)story.is_followed(2, 1, Instant{700});
  (void)story.proposes({0, 1, 3}, 2);
  (void)story.is_followed(1, 1, Instant{1'000});
  (void)story.is_followed(3, 1, Instant{1'100});
  CHECK(story.succession.lead_end() == Instant{3'700});
  (void)story.has_claimed();
  CHECK(story.succession.lead_end() == Instant{4'000});  // n2 may not claim any more
}

TEST_CASE("succession: who is left out of a claim bounds the lead no longer") {
  ClaimsStory story = claimed();
  (void)story.proposes({0, 1, 3}, 2);
  (void)story.at(1'500);
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{1'400});
  CHECK(story.succession.lead_end() == Instant{3'000});  // n3 has not answered
  CHECK(found_in(story.at(2'000), "lead until 4400"));
}

TEST_CASE("succession: a claim that did not reach the folder bounds the lead until one does") {
  ClaimsStory story = claimed();
  (void)story.proposes({0, 1, 3}, 2);
  (void)story.is_followed(3, 1, Instant{0});
  (void)story.is_followed(1, 1, Instant{0});
  (void)story.has_not_reached();
  story.now = Instant{1'000};
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{1'000});
  CHECK(story.succession.lead_end() == Instant{3'000});  // n3 may have the place by that claim
}

TEST_CASE("succession: a folder that is not reached is tried again each heartbeat, for a lease") {
  ClaimsStory story = claimed();
  (void)story.proposes({0, 1, 2}, 2);
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{0});
  story.now = Instant{100};
  CHECK(story.has_not_reached().empty());
  CHECK(story.is_followed(1, 1, Instant{0}).empty());
  CHECK(story.at(499).empty());
  for (std::int64_t ms = 500; ms < 3'100; ms += 500) {
    CHECK(story.at(ms).back() == "claim 2 with 2 for n0 n1 n2");
    CHECK(story.has_not_reached().empty());
  }
  (void)story.at(3'500);
  CHECK(story.has_not_reached() == Lines{"step down", "unfollow"});
  CHECK(story.succession.next_deadline() >= Instant{3'500 + 6'000});  // others first
}

/// A lease of claims that fail ends at `ms`, and the lead is passed on.
void passes_on_the_lead(ClaimsStory& story, std::int64_t ms) {
  (void)story.proposes({0, 1, 2}, 2);
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, story.now);
  (void)story.has_not_reached();
  (void)story.at(ms);
  CHECK(story.has_not_reached() == Lines{"step down", "unfollow"});
}

/// It has heard of nobody who claimed meanwhile, and of nobody for two beats since it looked.
void leads_again(ClaimsStory& story, std::int64_t ms) {
  for (const std::int64_t now : {ms - 1'000, ms}) (void)story.at(now);
  (void)story.reads(claim_of({0, 1, 2}));
  REQUIRE(story.succession.state() == Succession::State::leading);
}

TEST_CASE("succession: where nobody could claim, the leader waits for the folder the third time") {
  ClaimsStory story = claimed();
  passes_on_the_lead(story, 3'500);
  leads_again(story, 17'000);
  passes_on_the_lead(story, 20'500);
  leads_again(story, 40'000);
  (void)story.proposes({0, 1, 2}, 2);
  for (const std::int64_t ms : {40'500, 60'000}) {
    story.now = Instant{ms};
    CHECK(story.has_not_reached().empty());
  }
}

TEST_CASE("succession: who was stopped while it claimed in vain passes on the lead all the same") {
  ClaimsStory story = claimed();
  passes_on_the_lead(story, 60'000);
}

TEST_CASE("succession: a folder that is reached again is given a whole lease the next time") {
  ClaimsStory story = claimed();
  (void)story.proposes({0, 1, 2}, 2);
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{0});
  (void)story.has_not_reached();
  (void)story.at(500);
  (void)story.has_claimed();
  (void)story.proposes({0, 1, 2}, 3);
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{500});
  story.now = Instant{3'400};
  CHECK(story.has_not_reached().empty());
  CHECK(story.succession.state() == Succession::State::leading);
}

TEST_CASE("succession: a place that it has itself taken before, unheard, is its own") {
  ClaimsStory story = proposing();
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{0});
  (void)story.has_not_reached();
  (void)story.at(500);
  Knowledge own = story.known();
  own.decided = true;
  CHECK(found_in(story.finds_taken(own), "decided 1"));
}

TEST_CASE("succession: a claim of another's, in the same epoch by chance, is not its own") {
  ClaimsStory story = claimed();
  (void)story.proposes({0, 1}, 2);
  (void)story.is_followed(1, 1, Instant{0});
  Knowledge other = story.known();
  other.decided = true;
  other.record.voters.head = voter(1).agent;
  CHECK(story.finds_taken(other) == Lines{"step down", "unfollow"});
}

TEST_CASE("succession: whom its own earlier claim names may claim after it, and bounds the lead") {
  ClaimsStory story = proposing();
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{0});
  Knowledge own = story.known();
  own.decided = true;
  (void)story.may_have_claimed();
  (void)story.hears(Following{voter(2).agent, Epoch{1}, Instant{0}, {}});  // held up since long
  for (const std::int64_t ms : {500, 1'000}) (void)story.at(ms);
  CHECK_FALSE(story.known().record.voters.contains(voter(2).agent));
  (void)story.is_followed(1, 1, Instant{1'000});
  CHECK(story.succession.lead_end() == Instant{3'000});  // by n2's answer
  (void)story.finds_taken(own);
  CHECK(story.known().record.voters == own.record.voters);
  CHECK(story.succession.lead_end() == Instant{3'000});
}

TEST_CASE(
    "succession: another job's record is not its own, although both are the first of theirs") {
  ClaimsStory story = proposing();
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{0});
  const Knowledge other = of_job(voter(5).agent, claim_of({5, 6}));
  CHECK(other.id() == story.known_id());
  CHECK(story.finds_taken(other) == Lines{"step down", "unfollow"});
  CHECK_FALSE(story.succession.knowledge());
}

TEST_CASE("succession: a place that somebody else has taken ends the lead") {
  ClaimsStory story = claimed();
  (void)story.proposes({0, 1}, 2);
  (void)story.is_followed(1, 1, Instant{0});
  ClaimsStory unnamed = story;
  const Knowledge other = claimed_in(9, claim_of({2, 0}, 2));
  CHECK(story.finds_taken(other) == Lines{"step down", "unfollow"});
  CHECK(story.known() == other);
  CHECK(unnamed.finds_taken(claimed_in(9, claim_of({2, 1}, 2))) == Lines{"step down", "unfollow"});
  CHECK_FALSE(unnamed.succession.knowledge());  // it joins anew
}

TEST_CASE("succession: who stepped down and finds its own claim in the folder goes on from it") {
  ClaimsStory story = claimed();
  (void)story.proposes({0, 1, 2}, 2);
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{0});
  Knowledge linked = story.known();
  linked.decided = true;
  (void)story.has_not_reached();
  (void)story.at(3'000);
  CHECK(story.has_not_reached().front() == "step down");
  CHECK(story.at(story.succession.next_deadline()->ms) == Lines{"read claims of 1"});
  CHECK(found_in(story.reads(linked), "take lead, inheriting"));
  CHECK(story.known() == linked);
}

TEST_CASE("succession: nobody else leads while a claim is on its way") {
  ClaimsStory story = claimed();
  (void)story.proposes({0, 1, 2}, 2);
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{0});
  story.now = Instant{60'000};
  const Ballot other = Leading{leader_on(1, 8), Instant{1}, claim_of({1}).id(), true, 1, {}};
  CHECK(story.hears(other) == Lines{"n1: refuse 1"});
  CHECK(story.succession.state() == Succession::State::leading);
}

TEST_CASE("succession: who claims a place that is taken yields, even if no answer ever comes") {
  ClaimsStory story = claimed();
  (void)story.proposes({0, 1, 2}, 2);
  for (const int node : {1, 2}) (void)story.is_followed(node, 1, Instant{0});
  story.now = Instant{60'000};
  const Ballot other = Leading{leader_on(1, 8), Instant{1}, claim_of({1}, 2).id(), true, 2, {}};
  const Lines told = story.hears(other);
  REQUIRE(told.size() > 2);
  CHECK(Lines(told.begin(), told.begin() + 3) == Lines{"step down", "unfollow", "follow n1"});
}

TEST_CASE("succession: the end of the job closes the folder, once, by who leads") {
  ClaimsStory story = claimed();
  ClaimsStory leaves = story;  // and the job goes on
  CHECK(leaves.meets(JobOver{false}).empty());
  CHECK(story.meets(JobOver{true}) == Lines{"close the folder"});
  CHECK(story.meets(JobOver{true}).empty());
  CHECK(follower().meets(JobOver{true}).empty());
  SuccessionStory votes = leading();
  CHECK(votes.meets(JobOver{true}).empty());
}

TEST_CASE("succession: who has no lead when the job is over leaves the folder to whoever has") {
  ClaimsStory story = claimed();  // until 3000
  story.now = Instant{2'999};
  ClaimsStory later = story;
  CHECK(story.meets(JobOver{true}) == Lines{"close the folder"});
  later.now = Instant{3'000};
  CHECK(later.meets(JobOver{true}).empty());
}

TEST_CASE("succession: whoever may have forgotten the record is told all of it again") {
  ClaimsStory story = claimed();
  CHECK(story.at(500) == Lines{"n1: leading 1 with 1", "n2: leading 1 with 1"});
  (void)story.is_followed(1, 1, Instant{500});
  CHECK(story.at(3'000) ==
        Lines{"n1: leading 1 with 1", "n2: leading 1 with 1 whole", "read claims of 1"});
}

}  // namespace
}  // namespace ddprun
