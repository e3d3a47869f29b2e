#include "launcher/uplink.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

using Lines = std::vector<std::string>;

std::string text_of(const ToCoordinator& message) {
  if (const auto* hello = std::get_if<Hello>(&message)) {
    const std::string leased =
        hello->coordinator == 0 ? "" : fmt::format(", leased by {}", hello->coordinator);
    return fmt::format("hello of life {}{}", hello->from.life, leased);
  }
  if (const auto* beat = std::get_if<Heartbeat>(&message)) {
    return fmt::format("heartbeat {} got {}", beat->number, beat->received);
  }
  return fmt::format("news {}", std::get<Numbered<News>>(message).number);
}

std::string text_of(const UplinkAction& action) {
  if (const auto* made = std::get_if<Connect>(&action)) {
    return fmt::format("connect {}", made->connection);
  }
  if (const auto* ended = std::get_if<Disconnect>(&action)) {
    return fmt::format("disconnect {}", ended->connection);
  }
  if (const auto* send = std::get_if<SendUp>(&action)) {
    return fmt::format("{}: {}", send->connection, text_of(send->message));
  }
  if (const auto* pass = std::get_if<PassOn>(&action)) {
    return fmt::format("pass on {}", pass->instruction.index());
  }
  if (const auto* given_up = std::get_if<GiveUp>(&action)) {
    return fmt::format(
        "give up with {}: {}", given_up->outcome.exit_status, given_up->outcome.text);
  }
  return std::holds_alternative<LeaseEnded>(action) ? "lease ended" : "life ended";
}

/// Tells the story of one agent's connection: dead after 4 s, so that the lease is 3 s and a
/// heartbeat comes each 500 ms. Each verb returns what had to be done.
struct Story {
  Uplink uplink{UplinkOptions{.agent = 7, .host = "n1", .endpoint = "n0:29400"}};
  Instant now;

  Lines meets(const UplinkEvent& event) {
    std::vector<UplinkAction> actions;
    uplink.on_event(now, event, actions);
    return lines_of(actions);
  }
  Lines begins() {
    std::vector<UplinkAction> actions;
    uplink.start(now, actions);
    return lines_of(actions);
  }
  Lines connects(ConnectionId id) { return meets(ConnectionUp{id}); }
  Lines breaks(ConnectionId id) { return meets(ConnectionDown{id, "reset"}); }
  Lines hears(ToAgent message, ConnectionId id = 1) { return meets(Heard{id, std::move(message)}); }
  Lines is_answered(std::int64_t number, ConnectionId id = 1, Millis lead = Millis{60'000}) {
    return hears(Ack{5, number, 0, lead}, id);
  }
  Lines tells() { return meets(TellNews{WorkerSucceeded{GenerationNumber{1}, Rank{0}}}); }
  Lines is_asked_to_stop() { return meets(TellNews{StopRequested{SIGINT}}); }
  Lines after(std::int64_t time) {
    now = now + Millis{time};
    return meets(Timeout{});
  }
  static Lines lines_of(const std::vector<UplinkAction>& actions) {
    Lines lines;
    for (const UplinkAction& action : actions) lines.push_back(text_of(action));
    return lines;
  }
};

const std::string lost =
    "give up with 75: the coordinator was lost: reset; what was saved is kept: run again";

Story leased() {
  Story story;
  (void)story.begins();
  (void)story.connects(1);
  (void)story.is_answered(1);
  return story;
}

Numbered<Instruction> stop_number(std::int64_t number) {
  return {number, StopGeneration{NodeId{1}, GenerationNumber{1}, SIGTERM, Millis{0}}};
}

TEST_CASE("uplink: it connects, says who it is, and beats at its interval") {
  Story story;
  CHECK(story.begins() == Lines{"connect 1"});
  CHECK(story.connects(1) == Lines{"1: hello of life 1", "1: heartbeat 1 got 0"});
  CHECK_FALSE(story.uplink.lease_end());
  CHECK(story.is_answered(1).empty());
  CHECK(story.uplink.lease_end() == Instant{3'000});
  CHECK(story.uplink.next_deadline() == Instant{500});
  CHECK(story.after(500) == Lines{"1: heartbeat 2 got 0"});
}

TEST_CASE("uplink: U1 the lease runs from the sending of the heartbeat, not from its answer") {
  Story story = leased();
  CHECK(story.after(500) == Lines{"1: heartbeat 2 got 0"});
  story.now = Instant{2'900};
  CHECK(story.is_answered(2).empty());
  CHECK(story.uplink.lease_end() == Instant{3'500});
}

TEST_CASE("uplink: U1 an answer that is older than the lease gives none") {
  Story story;
  (void)story.begins();
  (void)story.connects(1);
  story.now = Instant{3'000};
  CHECK(story.is_answered(1).empty());
  CHECK_FALSE(story.uplink.lease_end());
}

TEST_CASE("uplink: U1 no lease outlives the lead, and an older answer does not shorten one") {
  Story story;
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
  Story story = leased();
  story.now = Instant{3'000};
  CHECK(story.hears(stop_number(1)) == Lines{"lease ended"});
  CHECK_FALSE(story.uplink.lease_end());
  CHECK(story.tells() == Lines{"1: news 1"});  // it is said once
}

TEST_CASE("uplink: without a lease no instruction is taken, and none is confirmed") {
  Story story;
  (void)story.begins();
  (void)story.connects(1);
  CHECK(story.hears(stop_number(1)).empty());
  CHECK(story.after(500) == Lines{"1: heartbeat 2 got 0"});
  (void)story.is_answered(2);
  CHECK(story.hears(stop_number(1)) == Lines{"1: heartbeat 3 got 1", "pass on 1"});
}

TEST_CASE("uplink: U3 instructions are passed on once and in order") {
  Story story = leased();
  CHECK(story.hears(stop_number(2)).empty());
  CHECK(story.hears(stop_number(1)) == Lines{"1: heartbeat 2 got 1", "pass on 1"});
  CHECK(story.hears(stop_number(1)).empty());
  CHECK(story.hears(stop_number(2)) == Lines{"1: heartbeat 3 got 2", "pass on 1"});
}

TEST_CASE("uplink: U3 news that were not confirmed are said again on the next connection") {
  Story story = leased();
  CHECK(story.tells() == Lines{"1: news 1"});
  CHECK(story.tells() == Lines{"1: news 2"});
  CHECK(story.hears(Ack{5, 1, 1, Millis{3'000}}).empty());
  CHECK(story.breaks(1) == Lines{"connect 2"});
  CHECK(story.tells().empty());
  CHECK(story.connects(2) ==
        Lines{"2: hello of life 1, leased by 5", "2: heartbeat 2 got 0", "2: news 2", "2: news 3"});
}

TEST_CASE("uplink: where nobody answers, attempts become rarer, up to one a second") {
  Story story;
  (void)story.begins();
  ConnectionId connection = 1;
  for (const std::int64_t pause : {25, 50, 100, 200, 400, 800, 1'000, 1'000}) {
    CHECK(story.breaks(connection).empty());
    CHECK(story.after(pause - 1).empty());
    CHECK(story.after(1) == Lines{fmt::format("connect {}", ++connection)});
  }
  (void)story.connects(connection);
  CHECK(story.breaks(connection).empty());  // accepted, and refused at once
  CHECK(story.after(1'000) == Lines{fmt::format("connect {}", ++connection)});
}

TEST_CASE("uplink: silence opens a second connection, and the first one to answer is kept") {
  Story story = leased();
  CHECK(story.after(500).size() == 1);
  CHECK(story.after(500) == Lines{"1: heartbeat 3 got 0", "connect 2"});
  CHECK(story.connects(2) ==
        Lines{"2: hello of life 1, leased by 5", "1: heartbeat 4 got 0", "2: heartbeat 4 got 0"});
  CHECK(story.is_answered(4, 2) == Lines{"disconnect 1"});
  CHECK(story.is_answered(4, 1).empty());  // it is not listened to any more
  CHECK(story.uplink.lease_end() == Instant{4'000});
}

TEST_CASE("uplink: of two connections that stay silent the elder one is given up") {
  Story story = leased();
  (void)story.after(1'000);
  (void)story.connects(2);
  CHECK(story.after(500).size() == 2);  // heartbeats
  CHECK(story.after(500) ==
        Lines{"1: heartbeat 5 got 0", "2: heartbeat 5 got 0", "disconnect 1", "connect 3"});
}

TEST_CASE(
    "uplink: a second connection that does not come up is tried again before it is too late") {
  Story story = leased();
  CHECK(story.after(1'000) == Lines{"1: heartbeat 2 got 0", "connect 2"});
  CHECK(story.after(499).empty());
  CHECK(story.after(1) == Lines{"1: heartbeat 3 got 0", "disconnect 2", "connect 3"});
  CHECK(story.after(500) == Lines{"1: heartbeat 4 got 0", "disconnect 3", "connect 4"});
  (void)story.connects(4);
  CHECK(story.is_answered(5, 4) == Lines{"disconnect 1"});
  CHECK(story.uplink.lease_end() == Instant{5'000});
}

TEST_CASE("uplink: who was declared lost begins a new life with nothing of the old one") {
  Story story = leased();
  (void)story.tells();
  (void)story.hears(stop_number(1));
  CHECK(story.hears(Forgotten{{7, 1}}) ==
        Lines{"life ended", "1: hello of life 2", "1: heartbeat 3 got 0"});
  CHECK_FALSE(story.uplink.lease_end());
  CHECK(story.hears(Forgotten{{7, 1}}).empty());  // said twice
  CHECK(story.tells() == Lines{"1: news 1"});
}

TEST_CASE(
    "uplink: a coordinator that never answers is waited for as long as nodes may take to join") {
  Story story;
  (void)story.begins();
  (void)story.breaks(1);
  story.now = Instant{599'999};
  (void)story.after(0);
  CHECK(story.after(1).front() ==
        "give up with 69: there is no coordinator: reset; is ddprun started on the node that has "
        "this address, or with --node-rank 0?");
}

TEST_CASE("uplink: a coordinator that is lost is waited for as long as a node may be replaced") {
  Story story = leased();
  (void)story.breaks(1);
  CHECK(story.after(3'000).front() == "lease ended");
  CHECK(story.after(29'999).front() != lost);
  CHECK(story.after(1).front() == lost);
  CHECK_FALSE(story.uplink.lease_end());
}

TEST_CASE("uplink: an answer ends the waiting") {
  Story story = leased();
  CHECK(story.after(3'000).front() == "lease ended");
  (void)story.connects(2);
  (void)story.is_answered(2, 2);
  (void)story.is_answered(3, 2);
  story.now = Instant{32'000};
  const Lines next = story.after(29'000);
  CHECK(std::ranges::count(next, lost) == 0);
}

TEST_CASE("uplink: who is refused does not try again, unless he was heard before") {
  Story story;
  (void)story.begins();
  CHECK(story.meets(ConnectionDown{1, "another job", true}) ==
        Lines{"give up with 69: another job"});
  Story member = leased();
  CHECK(member.meets(ConnectionDown{1, "another job", true}) == Lines{"connect 2"});
  CHECK(leased().hears(Refused{"no place", {}}) == Lines{"give up with 69: no place"});
}

TEST_CASE("uplink: a place that is taken may become free when its holder is lost") {
  Story story;
  (void)story.begins();
  (void)story.connects(1);
  CHECK(story.hears(Refused{"n9 has it", Millis{500}}).empty());
  story.now = Instant{4'500};
  CHECK(story.hears(Refused{"n9 has it", Millis{500}}).empty());
  story.now = Instant{20'000};
  CHECK(story.hears(Refused{"n9 has it", Millis{16'000}}).empty());
  CHECK(story.hears(Refused{"n9 has it", Millis{15'999}}) == Lines{"give up with 69: n9 has it"});
}

TEST_CASE("uplink: whoever wants to stop waits for no coordinator") {
  const std::string stopped = "give up with 130: stopped by SIGINT (2); nobody answers at n0:29400";
  Story story;
  (void)story.begins();
  CHECK(story.is_asked_to_stop() == Lines{stopped});
  Story member = leased();
  CHECK(member.is_asked_to_stop() == Lines{"1: news 1"});
  const Lines at_the_end = member.after(3'000);
  REQUIRE(at_the_end.size() >= 2);
  CHECK(at_the_end[0] == "lease ended");
  CHECK(at_the_end[1] == stopped);
}

TEST_CASE("uplink: that the job must end is said again in a new life") {
  Story story = leased();
  (void)story.is_asked_to_stop();
  CHECK(story.hears(Forgotten{{7, 1}}) ==
        Lines{"life ended", "1: hello of life 2", "1: heartbeat 2 got 0", "1: news 1"});
}

TEST_CASE("uplink: what comes over connections it has given up changes nothing") {
  Story story = leased();
  const Uplink before = story.uplink;
  for (const UplinkEvent& event : {UplinkEvent(ConnectionUp{9}),
                                   UplinkEvent(ConnectionDown{9}),
                                   UplinkEvent(Heard{9, Forgotten{{7, 1}}})}) {
    CHECK(story.meets(event).empty());
  }
  CHECK(story.uplink == before);
}

}  // namespace
}  // namespace ddprun
