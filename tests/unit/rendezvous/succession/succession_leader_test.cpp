#include "tests/unit/rendezvous/succession/succession_kit.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace ddprun {
namespace {

using namespace succession_story;

TEST_CASE("succession: a leader steps down when its lead is over, before anything else") {
  SuccessionStory story = leading();
  story.now = Instant{3'500};
  CHECK(story.is_followed(2, 2, Instant{3'400}) == Lines{"lead until 6400"});
  story.now = Instant{6'400};
  CHECK(story.meets(Called{{9}, Epoch{}}) == Lines{"step down", "unfollow", "turn away to nobody"});
  CHECK(story.is_asked(2, 3, record_of(3)) == Lines{"n2: refuse 2"});  // it has promised itself
  story.now = Instant{9'400};
  CHECK(story.is_asked(2, 3, record_of(3)) == Lines{"n2: vote 3"});
}

TEST_CASE("succession: what a leader said comes late: it says how long that binds") {
  SuccessionStory story = leading();
  story.now = Instant{6'000};
  CHECK(story.is_followed(2, 2, Instant{3'000}).front() == "step down");
  story.now = Instant{6'400};
  CHECK(story.is_followed(2, 2, Instant{5'900}) == Lines{"n2: stepped down in 2, binds for 2600"});
  story.now = Instant{9'500};
  CHECK(story.is_followed(2, 2, Instant{5'900}) == Lines{"n2: stepped down in 2, binds for 0"});
  CHECK(SuccessionStory(1).is_followed(2, 2, Instant{3'000}).empty());
}

TEST_CASE("succession: a generation is decided by a majority of its voters and of the last ones") {
  SuccessionStory story = leading();
  Generation next = record_of(1, 2).record;
  next.voters.all = {voter(1), voter(3), voter(4)};
  CHECK(story.meets(Propose{next}).at(0) == "lead until 6000");
  CHECK(story.is_followed(3, 2, Instant{3'000}).empty());
  const Lines decided = story.is_followed(2, 2, Instant{3'000});
  REQUIRE(decided.size() > 2);
  CHECK(decided[0] == "lead until 6000");
  CHECK(decided[1] == "3 voters");
  CHECK(decided[2] == "decided 2");
}

TEST_CASE("succession: an acceptance of another record does not count") {
  SuccessionStory story = leading();
  (void)story.meets(Propose{record_of(3, 2).record});
  CHECK(
      story.hears(Following{voter(2).agent, Epoch{2}, Instant{3'000}, record_of(3).id()}).empty());
  CHECK_FALSE(story.succession.knowledge()->decided);
}

TEST_CASE(
    "succession: V6 who founds elsewhere than at the endpoint gives way to whoever is there") {
  SuccessionStory story(0);
  SuccessionOptions options{
      .self = voter(3), .times = usual_times, .endpoint = "n0", .founds = true};
  SuccessionStory elsewhere(3);
  elsewhere.succession = Succession(options);
  std::vector<SuccessionAction> actions;
  elsewhere.succession.start({}, actions);
  CHECK(elsewhere.at(0) == Lines{"n0: leading 0 with 0?"});
  CHECK(elsewhere.at(500).empty());
  CHECK(elsewhere.at(1'000) == Lines{"n0: leading 0 with 0?"});
  const Leading call{leader_on(3, 0), Instant{}, {}, false, 0, {}};
  CHECK(story.hears(call) == Lines{"n3: refuse 0"});  // who founds there goes on
  CHECK(SuccessionStory(1).hears(call).empty());      // who knows of no job says nothing
  CHECK(elsewhere.hears(Refusal{voter(0).agent, Epoch{}}) == Lines{"step down", "unfollow"});
  CHECK(story.hears(Refusal{voter(3).agent, Epoch{}}).empty());
}

TEST_CASE("succession: a voter that does not answer is named once, for each record") {
  SuccessionStory story(0);
  (void)story.meets(Propose{record_of(3).record});
  (void)story.is_followed(1, 1, Instant{7'000});
  CHECK(std::ranges::count(story.at(7'500), "n2 is silent") == 0);
  const Lines lines = story.at(8'000);
  CHECK(std::ranges::count(lines, "n2 is silent") == 1);
  CHECK(std::ranges::count(lines, "n1 is silent") == 0);
  CHECK(std::ranges::count(story.at(8'500), "n2 is silent") == 0);
}

TEST_CASE("succession: V6 who founds gives way to whoever knows of a job") {
  for (const SuccessionEvent& event :
       {SuccessionEvent(Called{{1}, Epoch{3}}),
        SuccessionEvent(HeardOf{leader_on(2, 3)}),
        SuccessionEvent(BallotArrived{Leading{leader_on(2, 3), {}, {}, true, 0, {}}})}) {
    SuccessionStory story(0);
    CHECK(story.meets(Called{{1}, Epoch{}}) == Lines{"admit"});
    const Lines lines = story.meets(event);
    REQUIRE(lines.size() >= 2);
    CHECK(lines[0] == "step down");
    CHECK(lines[1] == "unfollow");
    CHECK_FALSE(story.succession.lead_end());
  }
}

TEST_CASE("succession: the founder's first generation is decided by itself and its voters") {
  SuccessionStory story(0);
  CHECK(story.succession.lead_end() == Lead::forever);
  const Lines proposed = story.meets(Propose{record_of(3).record});
  CHECK(proposed == Lines{"lead for ever",
                          "1 voters",
                          "n1: leading 1 with 1? whole",
                          "n2: leading 1 with 1? whole"});
  const Lines decided = story.is_followed(1, 1, Instant{0});
  CHECK(decided == Lines{"lead until 3000",
                         "3 voters",
                         "decided 1",
                         "n1: leading 1 with 1",
                         "n2: leading 1 with 1 whole"});
}

TEST_CASE("succession: the leader calls the endpoint each second, where somebody may start again") {
  SuccessionStory story(4);
  Knowledge known = record_of(6);
  known.record.voters.all.erase(known.record.voters.all.begin());
  known.record.voters.head = voter(5).agent;
  known.before = known.record.voters;
  (void)story.is_led(leader_on(5, 1), known);
  story.now = *story.succession.next_deadline();
  (void)story.meets(SuccessionTimeout{});
  const Instant sent = story.now;
  (void)story.gets_vote(1, 2, sent);
  const Lines elected = story.gets_vote(2, 2, sent);
  CHECK(elected.back() == "n0: leading 2 with 1");
}

TEST_CASE("succession: who has founded nothing yet is followed by nobody, whatever is said") {
  SuccessionStory story(0);
  CHECK(story.hears(Following{voter(2).agent, Epoch{}, Instant{1}, {}}).empty());
  CHECK(story.succession.lead_end() == Lead::forever);
}

}  // namespace
}  // namespace ddprun
