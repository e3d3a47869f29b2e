#include "tests/unit/rendezvous/succession/succession_kit.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

using namespace succession_story;

TEST_CASE("succession: V2 who has heard a leader within the lease does not vote") {
  SuccessionStory story = following();
  story.now = Instant{2'999};
  CHECK(story.is_asked(2, 2, record_of(3)) == Lines{"n2: refuse 1"});
  story.now = Instant{3'000};
  CHECK(story.is_asked(2, 2, record_of(3)) == Lines{"unfollow", "n2: vote 2"});
}

TEST_CASE("succession: V2 after a vote the old leader is not heard any more, until it is void") {
  SuccessionStory story = following();
  story.now = Instant{3'000};
  (void)story.is_asked(2, 2, record_of(3));
  CHECK(story.is_led(leader_on(0, 1)) == Lines{"n0: refuse 2"});
  (void)story.hears(Release{voter(2).agent, Epoch{2}});
  CHECK(story.is_led(leader_on(0, 1)) == Lines{"follow n0", "n0: following 1 with 1"});
}

TEST_CASE("succession: who has workers does not vote, and does not stand") {
  SuccessionStory story = following();
  (void)story.meets(WorkersStarted{});
  story.now = Instant{3'000};
  CHECK(story.is_asked(2, 2, record_of(3)) == Lines{"n2: refuse 1"});
  CHECK_FALSE(story.succession.next_deadline());
  (void)story.meets(WorkersGone{});
  CHECK(story.is_asked(2, 2, record_of(3)) == Lines{"unfollow", "n2: vote 2"});
}

TEST_CASE("succession: V3 nobody votes for one whose record is older") {
  SuccessionStory story;
  (void)story.is_led(leader_on(0, 1), record_of(3, 5));
  story.now = Instant{3'000};
  CHECK(story.is_asked(2, 2, record_of(3, 4)) == Lines{"n2: refuse 1"});
  CHECK(story.is_asked(2, 2, record_of(3, 6)) == Lines{"unfollow", "n2: vote 2"});
}

TEST_CASE("succession: a leader has not missed a record that was undecided at its election") {
  Knowledge undecided = record_of(3, 5);
  undecided.decided = false;
  SuccessionStory story;
  (void)story.is_led(leader_on(0, 1), undecided);
  (void)story.is_led(leader_on(2, 3), record_of(3, 4));
  CHECK(story.is_asked(0, 4, record_of(3, 4)) == Lines{"n0: refuse 3"});
  CHECK(story.is_asked(2, 4, record_of(3, 4)) == Lines{"n2: vote 4"});
  Knowledge its_own = record_of(3, 6);
  its_own.record.epoch = its_own.accepted = Epoch{3};
  (void)story.is_led(leader_on(2, 3), its_own);
  CHECK(story.is_asked(2, 5, record_of(3, 4)) == Lines{"n2: refuse 4"});  // that was sent before
}

TEST_CASE("succession: who knows a record that a candidate has missed stands before its turn") {
  SuccessionStory story(2);
  (void)story.is_led(leader_on(0, 1), record_of(3, 5));
  CHECK(story.succession.next_deadline() == Instant{3'750});
  story.now = Instant{2'000};
  (void)story.is_asked(1, 2, record_of(3, 5));
  CHECK(story.succession.next_deadline() == Instant{3'750});  // that one may be elected
  SuccessionStory late = story;
  (void)story.is_asked(1, 3, record_of(3, 4));
  CHECK(story.succession.next_deadline() == Instant{3'500});  // of 3000 to 3750, its place
  story.now = Instant{3'200};
  (void)story.is_asked(1, 4, record_of(3, 4));
  CHECK(story.succession.next_deadline() == Instant{3'500});
  late.now = Instant{3'100};
  (void)late.is_asked(1, 3, record_of(3, 4));
  CHECK(late.succession.next_deadline() == Instant{3'600});
  (void)late.is_led(leader_on(0, 1), record_of(3, 5));
  CHECK(late.succession.next_deadline() == Instant{3'100 + 3'750});  // a leader is heard again
}

TEST_CASE(
    "succession: a candidate that is asked in its own epoch gives up for who goes before it") {
  SuccessionStory story(2);
  (void)story.is_led(leader_on(0, 1), record_of(4));
  (void)story.at(3'750);
  SuccessionStory other = story;
  CHECK(story.is_asked(1, 2, record_of(4)) ==
        Lines{"n0: release 2", "n1: release 2", "n3: release 2", "n1: refuse 2"});
  CHECK(story.is_asked(1, 3, record_of(4)) == Lines{"n1: vote 3"});
  CHECK(other.is_asked(3, 2, record_of(4)) == Lines{"n3: refuse 2"});
}

TEST_CASE("succession: a candidate that does not ask this voter is no reason to stand sooner") {
  SuccessionStory story(2);
  (void)story.is_led(leader_on(0, 1), record_of(3, 5));
  story.now = Instant{3'000};
  Knowledge others = record_of(1, 4);
  others.before.all = {voter(1)};
  (void)story.is_asked(1, 2, others);
  CHECK(story.succession.next_deadline() == Instant{3'750});
}

TEST_CASE("succession: V5 who is not named among the electors does not vote") {
  SuccessionStory stranger(7);
  stranger.now = Instant{60'000};
  CHECK(stranger.is_asked(2, 2, record_of(3)) == Lines{"n2: refuse 0"});
  SuccessionStory unheard(2);  // of the record, in which it has a vote
  unheard.now = Instant{60'000};
  CHECK(unheard.is_asked(1, 2, record_of(3)) == Lines{"n1: vote 2"});
}

TEST_CASE("succession: a candidate gives way to a newer record, and to the earlier in order") {
  SuccessionStory story(2);
  (void)story.is_led(leader_on(0, 1), record_of(4));
  (void)story.at(3'750);
  CHECK(story.is_asked(3, 3, record_of(4)) == Lines{"n3: refuse 2"});
  SuccessionStory newer = story;
  CHECK(newer.is_asked(3, 3, record_of(4, 2)) ==
        Lines{"n0: release 2", "n1: release 2", "n3: release 2", "n3: vote 3"});
  CHECK(story.is_asked(1, 3, record_of(4)).back() == "n1: vote 3");
}

}  // namespace
}  // namespace ddprun
