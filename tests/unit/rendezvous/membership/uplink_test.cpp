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

const std::string lost =
    "give up with 75: the coordinator was lost: reset; what was saved is kept: run again";

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

TEST_CASE("uplink: a coordinator that is lost is waited for as long as a node may be replaced") {
  UplinkStory story = leased();
  (void)story.breaks(1);
  CHECK(story.after(3'000).front() == "lease ended");
  CHECK(story.after(29'999).front() != lost);
  CHECK(story.after(1).front() == lost);
  CHECK_FALSE(story.uplink.lease_end());
}

bool gives_up(const Lines& lines) {
  return std::ranges::any_of(lines,
                             [](const std::string& line) { return line.starts_with("give up"); });
}

TEST_CASE("uplink: whoever is answered without a lease waits for the coordinator's verdict") {
  UplinkStory story = leased();
  CHECK(story.after(3'000).front() == "lease ended");
  UplinkStory stopped = story;
  CHECK(gives_up(stopped.is_asked_to_stop()));
  for (int beat = 2; beat < 100; ++beat) {
    (void)story.is_answered(beat, 1, Millis{0});
    CHECK_FALSE(gives_up(story.after(500)));
  }
  UplinkStory unreached = story;
  (void)unreached.meets(Unfollow{});
  CHECK_FALSE(gives_up(unreached.after(29'000)));
  CHECK(gives_up(unreached.after(1'000)));
}

TEST_CASE("uplink: who was told to start and gets no lease for it gives up all the same") {
  UplinkStory story = leased();
  (void)story.after(3'000);
  (void)story.hears(start_number(1));
  bool gave_up = false;
  for (int beat = 2; beat < 80; ++beat) {
    (void)story.is_answered(beat, 1, Millis{0});
    const Lines lines = story.after(500);
    gave_up = gave_up || gives_up(lines);
  }
  CHECK(gave_up);
}

TEST_CASE("uplink: an answer ends the waiting") {
  UplinkStory story = leased();
  CHECK(story.after(3'000).front() == "lease ended");
  (void)story.connects(2);
  (void)story.is_answered(2, 2);
  (void)story.is_answered(3, 2);
  story.now = Instant{32'000};
  const Lines next = story.after(29'000);
  CHECK(std::ranges::count(next, lost) == 0);
}

/// Connection `id` is refused at that time, before the handshake's end.
Lines shut_out_at(UplinkStory& story,
                  std::int64_t time,
                  std::int64_t id,
                  const std::string& why = "another job") {
  story.now = Instant{time};
  (void)story.after(0);
  return story.meets(ConnectionDown{{id}, why, true});
}

TEST_CASE("uplink: who is shut out gives up once that was the only answer for 10 s") {
  UplinkStory story;
  story.uplink = Uplink{{.agent = 7, .endpoint = "n0:29400", .times = usual_times}};
  (void)story.begins();
  CHECK(shut_out_at(story, 0, 1) == Lines{"shut out: another job"});
  CHECK(shut_out_at(story, 5'000, 2).empty());
  SUBCASE("and no earlier") {
    CHECK(shut_out_at(story, 9'999, 3).empty());
    CHECK(shut_out_at(story, 11'000, 4) == Lines{"give up with 69: another job"});
  }
  SUBCASE("for one and the same reason") {
    CHECK(shut_out_at(story, 9'000, 3, "no token") == Lines{"shut out: no token"});
    CHECK(shut_out_at(story, 18'999, 4, "no token").empty());
    CHECK(shut_out_at(story, 20'000, 5, "no token") == Lines{"give up with 69: no token"});
  }
  SUBCASE("and no coordinator has proven itself there") {
    story.now = Instant{9'000};
    (void)story.after(0);
    (void)story.opens(3);
    (void)story.breaks(3);
    CHECK(shut_out_at(story, 11'000, 4) == Lines{"shut out: another job"});
  }
}

TEST_CASE("uplink: who is shut out until it has waited long enough is not told to start another") {
  UplinkStory story;
  story.uplink = Uplink{
      {.agent = 7, .endpoint = "n0:29400", .join_timeout = Millis{6'000}, .times = usual_times}};
  (void)story.begins();
  (void)shut_out_at(story, 0, 1);
  (void)shut_out_at(story, 5'000, 2);
  CHECK(story.after(1'000).front() == "give up with 69: another job");
}

TEST_CASE("uplink: who was heard once does not believe that it is shut out") {
  UplinkStory member = leased();
  CHECK(member.meets(ConnectionDown{{1}, "another job", true}) == Lines{"connect 2"});
  CHECK(member.meets(ConnectionDown{{2}, "another job", true}).empty());
}

TEST_CASE("uplink: who is refused by a coordinator that has proven itself gives up") {
  CHECK(leased().hears(Refused{"no place", {}, {}}) == Lines{"give up with 69: no place"});
}

TEST_CASE("uplink: a place that is taken may become free when its holder is lost") {
  UplinkStory story;
  (void)story.begins();
  (void)story.opens(1);
  CHECK(story.hears(Refused{"n9 has it", Millis{500}, {}}).empty());
  const auto refused_again_at = [&](std::int64_t time, Millis silent) {
    UplinkStory copy = story;
    (void)copy.breaks(1);
    (void)copy.after(1'000);
    copy.now = Instant{time};
    (void)copy.opens(2);
    return copy.hears(Refused{"n9 has it", silent, {}}, 2);
  };
  CHECK(refused_again_at(4'500, Millis{500}).empty());
  CHECK(refused_again_at(20'000, Millis{16'000}).empty());
  CHECK(refused_again_at(20'000, Millis{15'999}) == Lines{"give up with 69: n9 has it"});
}

TEST_CASE("uplink: whoever waited in vain for a place says who has it") {
  UplinkStory story;
  (void)story.begins();
  (void)story.opens(1);
  (void)story.hears(Refused{"n9 has it", Millis{500}, {}});
  CHECK(story.breaks(1).empty());
  UplinkStory refused = story;
  refused.now = Instant{599'999};
  (void)refused.after(0);
  CHECK(refused.after(1).front() == "give up with 69: n9 has it; is that --node-rank given twice?");
  UplinkStory stopped = story;
  CHECK(
      stopped.is_asked_to_stop() ==
      Lines{
          "give up with 130: stopped by SIGINT (2); this node was waiting for a place: n9 has it"});
  (void)story.after(1'000);
  (void)story.breaks(2);  // who refused is gone
  story.now = Instant{599'999};
  (void)story.after(0);
  CHECK(story.after(1).front() ==
        "give up with 69: n9 has it; then reset; is that --node-rank given twice?");
}

TEST_CASE("uplink: whoever comes back to a place that was taken says who has it") {
  UplinkStory story = leased();
  (void)story.hears(Forgotten{{7, 1}, leader_at(0)});
  (void)story.hears(Refused{"n9 has it", Millis{500}, {}});
  (void)story.breaks(1);
  story.now = story.now + Millis{29'999};
  (void)story.after(0);
  CHECK(story.after(1).front() == "give up with 75: n9 has it; what was saved is kept: run again");
}

TEST_CASE("uplink: how long a place was taken is counted anew with each coordinator") {
  const auto refused_by = [](int node) {
    UplinkStory story;
    (void)story.begins();
    (void)story.opens(1);
    (void)story.hears(Refused{"n9 has it", Millis{500}, leader_at(0)});
    (void)story.breaks(1);
    (void)story.after(1'000);
    story.now = Instant{20'000};
    (void)story.meets(ConnectionDown{{2}, "reset"});
    story.now = Instant{30'000};
    (void)story.after(0);
    (void)story.opens(3);
    return story.hears(Refused{"n9 has it", Millis{500}, leader_at(node)}, 3);
  };
  CHECK(refused_by(0) == Lines{"give up with 69: n9 has it"});
  CHECK(refused_by(2).empty());
}

TEST_CASE("uplink: a refusal that was long on its way does not say that the holder lives") {
  UplinkStory story;
  (void)story.begins();
  (void)story.opens(1);
  CHECK(story.hears(Refused{"n9 has it", Millis{500}, {}}).empty());
  (void)story.breaks(1);
  (void)story.after(1'000);
  (void)story.opens(2);
  story.now = Instant{20'000};
  CHECK(story.hears(Refused{"n9 has it", Millis{1'000}, {}}, 2).empty());
}

TEST_CASE("uplink: whoever wants to stop waits for no coordinator") {
  const std::string stopped =
      "give up with 130: stopped by SIGINT (2); this node was waiting for a coordinator: no answer "
      "from n0:29400";
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
                            "this node was waiting for a coordinator: no answer from n0:29400",
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
