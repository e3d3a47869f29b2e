#include "tests/unit/rendezvous/succession/succession_kit.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

using namespace succession_story;

TEST_CASE("succession: a voter accepts the record, follows, and says so") {
  SuccessionStory story;
  CHECK(story.succession.reason() == "no leader is known");
  CHECK(story.is_led(leader_on(0, 1), record_of(3)) ==
        Lines{"follow n0", "3 voters", "n0: following 1 with 1"});
  CHECK(story.is_led(leader_on(0, 1)) == Lines{"n0: following 1 with 1"});
  CHECK(story.succession.reason() == "n0 leads; if it is lost, 2 voters elect another");
}

TEST_CASE("succession: a voter hears through its agent, too, that its record is decided") {
  SuccessionStory story;
  Knowledge record = record_of(3);
  record.decided = false;
  (void)story.is_led(leader_on(0, 1), record);
  CHECK(story.meets(RecordDecided{record_of(3, 2).id()}).empty());
  CHECK_FALSE(story.succession.knowledge()->decided);
  CHECK(story.meets(RecordDecided{record.id()}) == Lines{"nobody needed"});
  CHECK(story.succession.knowledge()->decided);
}

TEST_CASE("succession: V2 who hears so has heard a leader, which leads for a lease from then") {
  SuccessionStory story;
  Knowledge record = record_of(3);
  record.decided = false;
  (void)story.is_led(leader_on(0, 1), record);
  story.now = Instant{2'000};
  (void)story.meets(RecordDecided{record.id()});
  story.now = Instant{4'999};
  CHECK(story.meets(SuccessionTimeout{}).empty());
  CHECK(story.is_asked(2, 2, record_of(3)) == Lines{"n2: refuse 1"});
  (void)story.meets(RecordDecided{record.id()});  // which it knows
  story.now = Instant{5'000};
  CHECK(story.is_asked(2, 2, record_of(3)) == Lines{"unfollow", "n2: vote 2"});
}

TEST_CASE("succession: V2 a leader that was heard late binds for as long as it says") {
  SuccessionStory story = following();
  story.now = Instant{3'000};
  (void)story.is_asked(2, 2, record_of(3));
  (void)story.hears(Release{voter(2).agent, Epoch{2}});
  story.now = Instant{4'000};
  (void)story.is_led(leader_on(0, 1));  // it came late
  CHECK(story.hears(SteppedDown{voter(0).agent, Epoch{2}, Millis{500}}).empty());
  CHECK(story.hears(SteppedDown{voter(2).agent, Epoch{1}, Millis{500}}).empty());
  CHECK(story.is_asked(3, 3, record_of(3)) == Lines{"n3: refuse 2"});
  CHECK(story.hears(SteppedDown{voter(0).agent, Epoch{1}, Millis{500}}) == Lines{"unfollow"});
  story.now = Instant{4'499};
  CHECK(story.is_asked(3, 3, record_of(3)) == Lines{"n3: refuse 2"});
  story.now = Instant{4'500};
  CHECK(story.is_asked(3, 3, record_of(3)) == Lines{"n3: vote 3"});
}

TEST_CASE("succession: V2 a leader that was heard late does not free from what was heard before") {
  SuccessionStory story = following();
  story.now = Instant{2'000};
  (void)story.hears(SteppedDown{voter(0).agent, Epoch{1}, Millis{600'000}});
  CHECK(story.is_asked(2, 2, record_of(3)) == Lines{"n2: refuse 1"});
  story.now = Instant{3'000};  // a lease after that
  CHECK(story.is_asked(2, 2, record_of(3)) == Lines{"n2: vote 2"});
}

TEST_CASE("succession: a follower gives its leader a higher epoch at once, and nobody else") {
  SuccessionStory story = following();
  (void)story.meets(WorkersStarted{});
  story.now = Instant{500};
  CHECK(story.is_asked(0, 4, record_of(3)) == Lines{"n0: vote 4"});
  CHECK(story.is_led(leader_on(0, 1)) == Lines{"n0: following 1 with 1"});  // until it is elected
  CHECK(story.is_asked(2, 5, record_of(3)) == Lines{"n2: refuse 4"});
}

TEST_CASE("succession: whoever leads in an epoch that is over is told so") {
  SuccessionStory story = following();
  (void)story.is_led(leader_on(2, 7), record_of(3, 2));
  CHECK(story.meets(HeardOf{leader_on(0, 6)}) == Lines{"n0: refuse 7"});
  CHECK(story.meets(HeardOf{leader_on(0, 8)}) == Lines{"follow n0"});
}

}  // namespace
}  // namespace ddprun
