#include "tests/unit/rendezvous/succession/succession_kit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace ddprun {
namespace {

using namespace succession_story;

TEST_CASE("succession: after a lease of silence the first in order stands, and is elected") {
  SuccessionStory story = following();
  CHECK(story.succession.next_deadline() == Instant{3'000});
  CHECK(story.at(2'999).empty());
  CHECK(story.at(3'000) == Lines{"unfollow", "n0: elect me in 2", "n2: elect me in 2"});
  CHECK(story.gets_vote(2, 2, Instant{3'000}) == Lines{"take lead, inheriting",
                                                       "lead until 6000",
                                                       "3 voters",
                                                       "follow n1",
                                                       "n0: leading 2 with 1 whole",
                                                       "n2: leading 2 with 1 whole"});
  CHECK(story.succession.reason() == "n1 leads; if it is lost, 2 voters elect another");
}

TEST_CASE("succession: the old head's node counts as heard a lease before the last vote") {
  SuccessionStory story = standing();
  story.now = Instant{3'200};
  std::vector<SuccessionAction> actions;
  const Vote vote{voter(2).agent, Epoch{2}, Instant{3'000}};
  story.succession.on_event(story.now, BallotArrived{vote}, actions);
  CHECK(std::get<TakeLead>(actions.at(0)).old_head_heard == Instant{200});
  CHECK(story.succession.lead_end() == Instant{6'000});  // a lease after the request
}

TEST_CASE("succession: a leader that gets no higher epoch goes on leading in its own") {
  SuccessionStory story = leading();
  (void)story.hears(Refusal{voter(2).agent, Epoch{5}});
  (void)story.at(3'500);
  (void)story.is_followed(2, 2, Instant{3'500});
  const Lines lines = story.at(5'100);
  CHECK(std::ranges::find(lines, "step down") == lines.end());
  CHECK(story.succession.lead_end() == Instant{6'500});
}

TEST_CASE("succession: the later in order stands later") {
  SuccessionStory story(2);
  (void)story.is_led(leader_on(0, 1), record_of(3));
  CHECK(story.succession.next_deadline() == Instant{3'750});
}

TEST_CASE("succession: a candidate that is not elected frees its voters and waits") {
  SuccessionStory story = standing();
  CHECK(story.at(3'250) == Lines{"n0: elect me in 2", "n2: elect me in 2"});
  story.now = Instant{4'400};
  (void)story.at(4'400);
  CHECK(story.at(4'500) == Lines{"n0: release 2", "n2: release 2"});
  CHECK(*story.succession.next_deadline() >= Instant{5'250});
  CHECK(*story.succession.next_deadline() < Instant{6'750});
}

TEST_CASE("succession: who votes when the candidate has given up is freed again") {
  SuccessionStory story = standing();
  (void)story.at(4'500);
  CHECK(story.gets_vote(2, 2, Instant{3'250}) == Lines{"n2: release 2"});
  CHECK(story.gets_vote(2, 1, Instant{0}).empty());  // no epoch in which it stood
}

TEST_CASE("succession: a leader that gets no higher epoch frees nobody: it leads by those votes") {
  SuccessionStory story = leading();
  (void)story.hears(Refusal{voter(2).agent, Epoch{5}});
  (void)story.at(3'500);
  (void)story.is_followed(2, 2, Instant{4'000});
  (void)story.at(5'000);  // it has asked in vain in 6
  for (const std::int64_t epoch : {2, 6}) {
    CHECK_FALSE(
        found_in(story.gets_vote(2, epoch, Instant{3'500}), fmt::format("n2: release {}", epoch)));
  }
}

TEST_CASE("succession: a candidate that hears of a higher epoch asks for more") {
  SuccessionStory story = standing();
  CHECK(story.hears(Refusal{voter(2).agent, Epoch{7}}).empty());
  CHECK(story.at(3'250) == Lines{"n0: elect me in 8", "n2: elect me in 8"});
  CHECK(story.gets_vote(2, 2, Instant{3'000}).empty());
  CHECK(story.gets_vote(2, 8, Instant{3'250}).front() == "take lead, inheriting");
}

TEST_CASE("succession: an undecided record is decided by its own voters and those before") {
  SuccessionStory story;
  Knowledge known = record_of(3, 2);
  known.decided = false;
  known.before.all = {voter(0), voter(1), voter(3)};
  (void)story.is_led(leader_on(0, 1), known);
  (void)story.at(3'000);
  SuccessionStory other = story;
  CHECK(other.gets_vote(3, 2, Instant{3'000}).empty());  // of those before only
  CHECK(story.gets_vote(2, 2, Instant{3'000}).empty());  // of its own voters only
  CHECK(story.gets_vote(3, 2, Instant{3'000}).front() == "take lead, inheriting");
  CHECK_FALSE(story.succession.knowledge()->decided);
  (void)story.is_followed(2, 2, Instant{3'000});
  CHECK_FALSE(story.succession.knowledge()->decided);
  (void)story.is_followed(3, 2, Instant{3'000});
  CHECK(story.succession.knowledge()->decided);
}

TEST_CASE("succession: by the vote of who knows it decided a record's own voters are enough") {
  Knowledge known = record_of(3, 2);
  known.decided = false;
  known.before.all = {voter(0), voter(1), voter(3)};
  SuccessionStory story;
  (void)story.is_led(leader_on(0, 1), known);
  (void)story.at(3'000);
  SuccessionStory other = story;
  const Vote vote{voter(2).agent, Epoch{2}, Instant{3'000}, known.id()};
  CHECK(story.hears(vote).front() == "take lead, inheriting");
  CHECK(story.succession.knowledge()->decided);
  const Vote of_older{voter(2).agent, Epoch{2}, Instant{3'000}, record_of(3, 1).id()};
  CHECK(other.hears(of_older).empty());
}

TEST_CASE("succession: a vote says that the voter knows its record to be decided") {
  for (const bool decided : {false, true}) {
    Knowledge known = record_of(3, 2);
    known.decided = decided;
    known.before.all = {voter(0), voter(1), voter(2)};
    SuccessionStory story;
    (void)story.is_led(leader_on(0, 1), known);
    story.now = Instant{3'000};
    std::vector<SuccessionAction> actions;
    const VoteRequest asks{
        voter(2), Epoch{2}, Instant{88}, known.id(), {known.record.voters, known.before}};
    story.succession.on_event(story.now, BallotArrived{asks}, actions);
    const auto* sent = std::get_if<SendBallot>(&actions.back());
    REQUIRE(sent != nullptr);
    const RecordId told = decided ? known.id() : RecordId{};
    CHECK(sent->ballot == Ballot{Vote{voter(1).agent, Epoch{2}, Instant{88}, told}});
  }
}

TEST_CASE("succession: a leader that hears of a higher epoch asks for one, and goes on leading") {
  SuccessionStory story = leading();
  (void)story.hears(Refusal{voter(2).agent, Epoch{5}});
  const Lines asked = story.at(3'500);
  CHECK(Lines(asked.begin(), asked.begin() + 2) == Lines{"n0: elect me in 6", "n2: elect me in 6"});
  CHECK(asked.size() == 4);  // and says to both that it leads
  CHECK(story.gets_vote(2, 6, Instant{3'500}).at(0) == "lead until 6500");
  CHECK(story.succession.reason() == "n1 leads; if it is lost, 2 voters elect another");
}

}  // namespace
}  // namespace ddprun
