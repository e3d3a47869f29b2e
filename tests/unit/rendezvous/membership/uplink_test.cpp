#include "rendezvous/membership/uplink.hpp"

#include "tests/unit/rendezvous/membership/uplink_kit.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <string>

namespace ddprun {
namespace {

using namespace uplink_story;

TEST_CASE("uplink: it connects, says who it is, and beats at its interval") {
  UplinkStory story;
  CHECK(story.begins() == Lines{"connect 1"});
  CHECK(story.opens(1) == Lines{"1: hello of life 1"});
  CHECK(story.is_welcomed(1) == Lines{"heard of n0"});
  CHECK(story.follows(leader_at(0)) == Lines{"1: heartbeat 1 got 0"});
  CHECK_FALSE(story.uplink.lease_end());
  CHECK(story.is_answered(1).empty());
  CHECK(story.uplink.lease_end() == Instant{3'000});
  CHECK(story.uplink.next_deadline() == Instant{500});
  CHECK(story.after(500) == Lines{"1: heartbeat 2 got 0"});
}

TEST_CASE("uplink: U1 the lease runs from the sending of the heartbeat, not from its answer") {
  UplinkStory story = leased();
  CHECK(story.after(500) == Lines{"1: heartbeat 2 got 0"});
  story.now = Instant{2'900};
  CHECK(story.is_answered(2).empty());
  CHECK(story.uplink.lease_end() == Instant{3'500});
}

TEST_CASE("uplink: U1 an answer that is older than the lease gives none") {
  UplinkStory story;
  (void)story.begins();
  (void)story.connects(1);
  story.now = Instant{3'000};
  CHECK(story.is_answered(1).empty());
  CHECK_FALSE(story.uplink.lease_end());
}

TEST_CASE("uplink: U1 no lease outlives the lead, and an older answer does not shorten one") {
  UplinkStory story;
  (void)story.begins();
  (void)story.connects(1);
  (void)story.is_answered(1, 1, Millis{1'200});
  CHECK(story.uplink.lease_end() == Instant{1'200});
  (void)story.after(500);
  (void)story.is_answered(2);
  CHECK(story.uplink.lease_end() == Instant{3'500});
  (void)story.is_answered(1, 1, Millis{1'200});
  CHECK(story.uplink.lease_end() == Instant{3'500});
}

TEST_CASE("uplink: U2 the lease's end comes before whatever else happened") {
  UplinkStory story = leased();
  story.now = Instant{3'000};
  CHECK(story.hears(start_number(1)) == Lines{"lease ended", "1: heartbeat 2 got 0"});
  CHECK_FALSE(story.uplink.lease_end());
  CHECK(story.tells() == Lines{"1: news 1"});  // it is said once
}

/// Welcomed, and without a lease.
UplinkStory unleased() {
  UplinkStory story;
  (void)story.begins();
  (void)story.connects(1);
  return story;
}

TEST_CASE(
    "uplink: without a lease nothing is started, nor confirmed, a lease is asked for at once") {
  UplinkStory story = unleased();
  CHECK(story.hears(start_number(1)) == Lines{"1: heartbeat 2 got 0"});
  (void)story.is_answered(2);
  CHECK(story.hears(start_number(1)) == Lines{"1: heartbeat 3 got 1", "pass on 0"});
}

TEST_CASE("uplink: what starts nothing needs no lease") {
  CHECK(unleased().hears(stop_number(1)) == Lines{"1: heartbeat 2 got 1", "pass on 1"});
}

TEST_CASE("uplink: U3 what ends a start that was put off overtakes it, and that never starts") {
  UplinkStory story = unleased();
  (void)story.hears(start_number(1));
  CHECK(story.hears(stop_number(2)) == Lines{"1: heartbeat 3 got 2", "pass on 1"});
  (void)story.is_answered(3);
  CHECK(story.hears(start_number(1)).empty());
  CHECK(story.hears(start_number(3)) == Lines{"1: heartbeat 4 got 3", "pass on 0"});
}

TEST_CASE("uplink: U3 a request to save does not overtake a start that was put off") {
  UplinkStory story = unleased();
  (void)story.hears(start_number(1));
  CHECK(story.hears(save_number(2)).empty());
  UplinkStory stopped = story;
  (void)story.is_answered(2);
  CHECK(story.hears(start_number(1)) == Lines{"1: heartbeat 3 got 1", "pass on 0"});
  CHECK(story.hears(save_number(2)) == Lines{"1: heartbeat 4 got 2", "pass on 3"});
  CHECK(stopped.hears(stop_number(3)) == Lines{"1: heartbeat 3 got 3", "pass on 1"});
  (void)stopped.is_answered(3);
  CHECK(stopped.hears(start_number(1)).empty());
}

TEST_CASE("uplink: U3 nothing else overtakes a start that was put off") {
  UplinkStory story = unleased();
  (void)story.hears(start_number(1));
  CHECK(story.hears(stop_number(3)).empty());
  UplinkStory unheard = unleased();
  CHECK(unheard.hears(start_number(2)) == Lines{"1: heartbeat 2 got 0"});  // before the first
  CHECK(unheard.hears(stop_number(3)).empty());
  UplinkStory anew = unleased();
  (void)anew.hears(start_number(1));
  (void)anew.hears(Forgotten{{7, 1}, leader_at(0)});
  (void)anew.is_welcomed(1);
  CHECK(anew.hears(stop_number(2)).empty());  // of another life
}

TEST_CASE("uplink: U3 instructions are passed on once and in order") {
  UplinkStory story = leased();
  CHECK(story.hears(stop_number(2)).empty());
  CHECK(story.hears(stop_number(1)) == Lines{"1: heartbeat 2 got 1", "pass on 1"});
  CHECK(story.hears(stop_number(1)).empty());
  CHECK(story.hears(stop_number(2)) == Lines{"1: heartbeat 3 got 2", "pass on 1"});
}

TEST_CASE("uplink: U3 news that were not confirmed are said again on the next connection") {
  UplinkStory story = leased();
  CHECK(story.tells() == Lines{"1: news 1"});
  CHECK(story.tells() == Lines{"1: news 2"});
  CHECK(story.after(500) == Lines{"1: heartbeat 2 got 0"});
  CHECK(story.hears(Ack{2, 1, Millis{3'000}}).empty());
  CHECK(story.breaks(1) == Lines{"connect 2"});
  CHECK(story.tells().empty());
  CHECK(
      story.connects(2) ==
      Lines{"2: hello of life 1, leased by 100", "2: heartbeat 3 got 0", "2: news 2", "2: news 3"});
}

TEST_CASE("uplink: who has heard its news is told so without a lease, too") {
  UplinkStory story;
  (void)story.begins();
  (void)story.connects(1);
  (void)story.tells();
  CHECK(story.hears(Ack{1, 1, Millis{0}}).empty());
  (void)story.breaks(1);
  CHECK(story.opens(2) == Lines{"2: hello of life 1, leased by 100"});
}

TEST_CASE("uplink: where nobody answers, attempts become rarer, up to one a second") {
  UplinkStory story;
  (void)story.begins();
  std::int64_t connection = 1;
  for (const std::int64_t pause : {25, 50, 100, 200, 400, 800, 1'000, 1'000}) {
    CHECK(story.breaks(connection).empty());
    CHECK(story.after(pause - 1).empty());
    CHECK(story.after(1) == Lines{fmt::format("connect {}", ++connection)});
  }
  (void)story.opens(connection);
  CHECK(story.breaks(connection).empty());  // accepted, and refused at once
  CHECK(story.after(1'000) == Lines{fmt::format("connect {}", ++connection)});
}

TEST_CASE("uplink: silence opens a second connection, and the first one to answer is kept") {
  UplinkStory story = leased();
  CHECK(story.after(500).size() == 1);
  CHECK(story.after(500) == Lines{"1: heartbeat 3 got 0", "connect 2"});
  CHECK(story.connects(2) ==
        Lines{"2: hello of life 1, leased by 100", "1: heartbeat 4 got 0", "2: heartbeat 4 got 0"});
  CHECK(story.is_answered(4, 2) == Lines{"disconnect 1"});
  CHECK(story.is_answered(4, 1).empty());  // it is not listened to any more
  CHECK(story.uplink.lease_end() == Instant{4'000});
}

TEST_CASE("uplink: U3 news that went over a connection which is given up are said over the other") {
  UplinkStory story = leased();
  (void)story.after(1'000);
  (void)story.connects(2);
  CHECK(story.tells() == Lines{"2: news 1"});
  CHECK(story.is_answered(3, 1) == Lines{"disconnect 2", "1: news 1"});
  CHECK(story.after(500) == Lines{"1: heartbeat 4 got 0"});  // nothing is said for a third time
}

TEST_CASE("uplink: U3 news that went over a connection which breaks are said over the other") {
  UplinkStory story = leased();
  (void)story.after(1'000);
  (void)story.connects(2);
  CHECK(story.tells() == Lines{"2: news 1"});
  CHECK(story.breaks(2) == Lines{"1: news 1"});
  CHECK(story.is_answered(3, 1).empty());
  CHECK(story.breaks(1) == Lines{"connect 3"});
}

TEST_CASE("uplink: of two connections that stay silent the elder one is given up") {
  UplinkStory story = leased();
  (void)story.after(1'000);
  (void)story.connects(2);
  CHECK(story.after(500).size() == 2);  // heartbeats
  CHECK(story.after(500) ==
        Lines{"1: heartbeat 5 got 0", "2: heartbeat 5 got 0", "disconnect 1", "connect 3"});
}

TEST_CASE(
    "uplink: a second connection that does not come up is tried again before it is too late") {
  UplinkStory story = leased();
  CHECK(story.after(1'000) == Lines{"1: heartbeat 2 got 0", "connect 2"});
  CHECK(story.after(374).empty());
  CHECK(story.after(1) == Lines{"disconnect 2", "connect 3"});
  CHECK(story.after(125) == Lines{"1: heartbeat 3 got 0"});
  CHECK(story.after(250) == Lines{"disconnect 3", "connect 4"});
  (void)story.connects(4);
  CHECK(story.is_answered(4, 4) == Lines{"disconnect 1"});
  CHECK(story.uplink.lease_end() == Instant{4'750});
}

TEST_CASE("uplink: who was declared lost begins a new life with nothing of the old one") {
  UplinkStory story = leased();
  (void)story.tells();
  (void)story.hears(stop_number(1));
  CHECK(story.hears(Forgotten{{7, 1}, leader_at(0)}) == Lines{"life ended", "1: hello of life 2"});
  CHECK_FALSE(story.uplink.lease_end());
  CHECK(story.hears(Forgotten{{7, 1}, leader_at(0)}).empty());  // said twice
  CHECK(story.is_welcomed(1) == Lines{"1: heartbeat 3 got 0"});
  CHECK(story.tells() == Lines{"1: news 1"});
}

TEST_CASE(
    "uplink: a coordinator that never answers is waited for as long as nodes may take to join") {
  UplinkStory story;
  (void)story.begins();
  (void)story.breaks(1);
  story.now = Instant{599'999};
  (void)story.after(0);
  CHECK(story.after(1).front() ==
        "give up with 69: there is no coordinator: reset; is ddprun started on the node that has "
        "this address, or with --node-rank 0?");
}

TEST_CASE("uplink: whoever wants to stop waits for no coordinator") {
  const std::string stopped =
      "give up with 130: stopped by SIGINT (2); this node was waiting for a coordinator: no answer "
      "from n0:1";
  UplinkStory story;
  (void)story.begins();
  CHECK(story.is_asked_to_stop() == Lines{stopped});
  UplinkStory member = leased();
  CHECK(member.is_asked_to_stop() == Lines{"1: news 1"});
  const Lines at_the_end = member.after(3'000);
  REQUIRE(at_the_end.size() >= 2);
  CHECK(at_the_end[0] == "lease ended");
  CHECK(at_the_end[1] == stopped);
}

TEST_CASE("uplink: a job that was to go on later ends like that without a coordinator, too") {
  for (const auto& [stop, how] : {std::pair{StopRequested{SIGUSR1}, "by SIGUSR1 (10)"},
                                  std::pair{StopRequested{0, true}, "before its time limit"}}) {
    UplinkStory story;
    (void)story.begins();
    CHECK(story.is_asked_to_stop(stop) ==
          Lines{fmt::format("give up with 75: stopped {}; what was saved is kept: run again; "
                            "this node was waiting for a coordinator: no answer from n0:1",
                            how)});
  }
}

TEST_CASE("uplink: that the job must end is said again in a new life") {
  UplinkStory story = leased();
  (void)story.is_asked_to_stop();
  CHECK(story.hears(Forgotten{{7, 1}, leader_at(0)}) == Lines{"life ended", "1: hello of life 2"});
  CHECK(story.is_welcomed(1) == Lines{"1: heartbeat 2 got 0", "1: news 1"});
}

TEST_CASE("uplink: the job's end is heard without a lease") {
  UplinkStory story;
  (void)story.begins();
  (void)story.connects(1);
  CHECK(story.hears(Numbered<Instruction>{1, FinishJob{}}) ==
        Lines{"1: heartbeat 2 got 1", "pass on 2"});
}

TEST_CASE("uplink: what comes over connections it has given up changes nothing") {
  UplinkStory story = leased();
  const Uplink before = story.uplink;
  for (const UplinkEvent& event : {UplinkEvent(ConnectionUp{{9}}),
                                   UplinkEvent(ConnectionDown{{9}}),
                                   UplinkEvent(Heard{{9}, Forgotten{{7, 1}, {}}})}) {
    CHECK(story.meets(event).empty());
  }
  CHECK(story.uplink == before);
}

}  // namespace
}  // namespace ddprun
