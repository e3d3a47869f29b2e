#include "rendezvous/membership/uplink.hpp"
#include "tests/unit/rendezvous/membership/uplink_kit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace ddprun {
namespace {

using namespace uplink_story;

const std::string lost =
    "give up with 75: the coordinator was lost: reset; what was saved is kept: run again";

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
  story.uplink = Uplink{{.agent = 7, .endpoint = "n0:1", .times = usual_times}};
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
  story.uplink =
      Uplink{{.agent = 7, .endpoint = "n0:1", .join_timeout = Millis{6'000}, .times = usual_times}};
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

TEST_CASE("uplink: whoever waited in vain for any place blames no --node-rank") {
  UplinkStory story;
  (void)story.begins();
  (void)story.opens(1);
  (void)story.hears(Refused{"n1 is one node too many", Millis{500}, {}});
  (void)story.breaks(1);
  story.now = Instant{599'999};
  (void)story.after(0);
  CHECK(story.after(1).front() == "give up with 69: n1 is one node too many");
}

TEST_CASE("uplink: whoever waited in vain for its place says who has it") {
  UplinkStory story(NodeId{1});
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

}  // namespace
}  // namespace ddprun
