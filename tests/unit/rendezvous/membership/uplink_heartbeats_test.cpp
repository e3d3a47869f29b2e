// The way of heartbeats through a relay. The lease itself is tested with the uplink.
#include "rendezvous/membership/uplink.hpp"
#include "tests/unit/rendezvous/membership/uplink_kit.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace ddprun {
namespace {

using namespace uplink_story;

Lines answers_through_relay(UplinkStory& story,
                            std::int64_t number,
                            std::int64_t id = 2,
                            std::int64_t received = 0) {
  return story.hears(AckFromRelay{{number, received, Millis{60'000}}}, id);
}

/// With a relay behind connection 2, which has answered.
UplinkStory relayed() {
  UplinkStory story = leased();
  CHECK(story.hears(UseRelay{"n5:1"}) == Lines{});
  CHECK(story.after(0) == Lines{"connect 2"});
  CHECK(story.meets(ConnectionUp{{2}, "n5:1"}).empty());
  CHECK(story.after(500) == Lines{"2: to relay: heartbeat 2 of life 1", "1: heartbeat 2 got 0"});
  CHECK(answers_through_relay(story, 2).empty());
  return story;
}

TEST_CASE("uplink: heartbeats go both ways until the relay answers, then through it alone") {
  UplinkStory story = relayed();
  CHECK(story.uplink.lease_end() == Instant{3'500});
  CHECK(story.after(500) == Lines{"2: to relay: heartbeat 3 of life 1"});
  story.now = Instant{1'400};
  CHECK(answers_through_relay(story, 3).empty());
  CHECK(story.uplink.lease_end() == Instant{4'000});  // U1
}

TEST_CASE("uplink: a relay that is silent for a quarter of the lease is not relied on") {
  UplinkStory story = relayed();  // it has answered at 500
  CHECK(story.after(500) == Lines{"2: to relay: heartbeat 3 of life 1"});
  CHECK(story.after(499).empty());
  CHECK(story.after(1) ==  // that is a third of this lease, too
        Lines{"2: to relay: heartbeat 4 of life 1", "1: heartbeat 4 got 0", "connect 3"});
  CHECK(story.is_answered(4) == Lines{"disconnect 3"});
  CHECK(story.uplink.lease_end() == Instant{4'500});
  CHECK(answers_through_relay(story, 4).empty());  // too late for the lease, but it answers
  CHECK(story.after(500) == Lines{"2: to relay: heartbeat 5 of life 1"});
}

TEST_CASE("uplink: where neither answers, a third of the lease opens a second connection") {
  UplinkStory story = relayed();
  Lines all;
  while (story.now < Instant{2'500}) UplinkStory::append(all, story.after(100));
  CHECK(std::ranges::count(all, "connect 3") == 1);
}

TEST_CASE("uplink: news that is not confirmed needs answers over the agent's own connection") {
  UplinkStory story = relayed();
  CHECK(story.tells() == Lines{"1: news 1"});
  CHECK(story.after(500) == Lines{"1: heartbeat 3 got 0"});
  CHECK(story.hears(Ack{3, 1, Millis{60'000}}).empty());
  CHECK(story.after(500) == Lines{"2: to relay: heartbeat 4 of life 1", "1: heartbeat 4 got 0"});
  CHECK(answers_through_relay(story, 4).empty());
  CHECK(story.after(500) == Lines{"2: to relay: heartbeat 5 of life 1"});
}

TEST_CASE("uplink: an instruction is confirmed over the agent's own connection") {
  UplinkStory story = relayed();
  CHECK(story.hears(start_number(1)) == Lines{"1: heartbeat 3 got 1", "pass on 0"});
}

TEST_CASE("uplink: the agent's own connection proves itself each 64 intervals") {
  UplinkStory story = relayed();  // proven at 0
  std::int64_t number = 2;
  while (story.now < Instant{32'000}) {
    ++number;
    CHECK(story.after(500) == Lines{fmt::format("2: to relay: heartbeat {} of life 1", number)});
    CHECK(answers_through_relay(story, number).empty());
  }
  CHECK(story.after(500) == Lines{fmt::format("1: heartbeat {} got 0", ++number)});
  CHECK(story.is_answered(number).empty());
  CHECK(story.after(500).front() == fmt::format("2: to relay: heartbeat {} of life 1", ++number));
  CHECK(answers_through_relay(story, number).empty());
  CHECK(story.after(500) == Lines{fmt::format("2: to relay: heartbeat {} of life 1", ++number)});
}

TEST_CASE("uplink: what a relay says on another connection, or for itself, counts nothing") {
  UplinkStory story = relayed();
  (void)story.after(500);
  CHECK(answers_through_relay(story, 3, 1).empty());
  CHECK(story.hears(Ack{3, 0, Millis{60'000}}, 2).empty());
  CHECK(story.uplink.lease_end() == Instant{3'500});
}

TEST_CASE("uplink: an answer from before a new life extends no lease and confirms no news") {
  UplinkStory story = relayed();
  CHECK(story.after(500) == Lines{"2: to relay: heartbeat 3 of life 1"});
  (void)story.hears(Forgotten{{7, 1}, leader_at(0)});
  (void)story.is_welcomed(1);
  CHECK(story.is_answered(4).empty());
  CHECK(story.uplink.lease_end() == Instant{4'000});
  (void)story.hears(UseRelay{"n5:1"});
  CHECK(story.after(0) == Lines{"connect 3"});
  CHECK(story.meets(ConnectionUp{{3}, "n5:1"}).empty());
  CHECK(story.tells() == Lines{"1: news 1"});
  CHECK(answers_through_relay(story, 3, 3, 1).empty());
  CHECK(story.uplink.lease_end() == Instant{4'000});
  CHECK(story.after(500) == Lines{"1: heartbeat 5 got 0"});  // the news waits for its answer
}

TEST_CASE("uplink: a relay's connection that ends is made again later, and costs nothing") {
  UplinkStory story = relayed();
  CHECK(story.breaks(2).empty());
  CHECK(story.after(500) == Lines{"1: heartbeat 3 got 0"});
  while (story.now < Instant{4'400}) {
    (void)story.after(100);
    (void)story.is_answered((story.now.ms / 500) + 1);
  }
  CHECK(story.after(100) == Lines{"1: heartbeat 10 got 0", "connect 3"});
}

TEST_CASE("uplink: another relay, or none, ends the connection to the one before") {
  UplinkStory story = relayed();
  CHECK(story.hears(UseRelay{"n6:1"}) == Lines{"disconnect 2"});
  CHECK(story.after(0) == Lines{"connect 3"});
  CHECK(story.hears(UseRelay{""}) == Lines{"disconnect 3"});
  CHECK(story.after(500) == Lines{"1: heartbeat 3 got 0"});
}

TEST_CASE("uplink: a leader that is not followed names no relay, and a new life has none") {
  UplinkStory story = relayed();
  const Lines lines = story.hears(Forgotten{{7, 1}, leader_at(0)});
  CHECK(lines == Lines{"disconnect 2", "life ended", "1: hello of life 2"});
  CHECK(story.hears(UseRelay{"n5:1"}) == Lines{});
}

TEST_CASE("uplink: as a relay it passes on what has its own leader, and the answers") {
  UplinkStory story = leased();
  const Leader leader = leader_at(0);
  const RelayedBeat beat{{11, 1}, {5, 0}};
  PassBeats pass{{{leader.agent, leader.reign, beat},
                  {leader.agent, Epoch{9}, beat},
                  {leader.agent + 1, leader.reign, beat}}};
  CHECK(story.meets(pass) == Lines{"1: 1 heartbeats"});
  CHECK(story.hears(AckBatch{{{{11, 1}, {5, 0, Millis{60'000}}}}}) == Lines{"1 answers"});
  (void)story.meets(Unfollow{});
  CHECK(story.meets(pass).empty());
}

}  // namespace
}  // namespace ddprun
