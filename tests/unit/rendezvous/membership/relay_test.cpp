#include "rendezvous/membership/relay.hpp"

#include "tests/unit/usual_times.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

constexpr AgentId leader_agent = 100;
constexpr Epoch reign{4};

BeatArrived beat_of(AgentId agent, std::int64_t session, std::int64_t number) {
  return {{session}, {leader_agent, reign, {{agent, 1}, {number, 0}}}};
}

/// A heartbeat comes each 500 ms, so that 62 ms are collected.
struct RelayStory {
  Relay relay{usual_times};
  Instant now;

  std::vector<RelayAction> meets(const RelayEvent& event) {
    std::vector<RelayAction> actions;
    relay.on_event(now, event, actions);
    return actions;
  }
  /// What is passed on to the coordinator.
  std::optional<PassBeats> after(std::int64_t time) {
    now = now + Millis{time};
    const std::vector<RelayAction> actions = meets(Timeout{});
    if (actions.empty()) return std::nullopt;
    REQUIRE(actions.size() == 1);
    return std::get<PassBeats>(actions[0]);
  }
};

PassAcks answers_to(const std::vector<AgentId>& agents) {
  PassAcks pass;
  for (const AgentId agent : agents) {
    pass.batch.acks.push_back({{agent, 1}, {7, 2, Millis{3'000}}});
  }
  return pass;
}

TEST_CASE("relay: what comes in an eighth of an interval goes on at once, of each the newest") {
  RelayStory story;
  CHECK_FALSE(story.relay.next_deadline());
  CHECK(story.meets(beat_of(11, 1, 5)).empty());
  CHECK(story.relay.next_deadline() == Instant{62});
  CHECK_FALSE(story.after(30));
  CHECK(story.meets(beat_of(12, 2, 9)).empty());
  CHECK(story.meets(beat_of(11, 1, 6)).empty());
  CHECK(story.relay.next_deadline() == Instant{62});
  const auto passed = story.after(32);
  REQUIRE(passed);
  CHECK(passed->beats == std::vector{beat_of(11, 1, 6).beat, beat_of(12, 2, 9).beat});
  CHECK_FALSE(story.relay.next_deadline());
  CHECK_FALSE(story.after(500));
}

TEST_CASE("relay: an answer goes to the newest connection of its agent") {
  RelayStory story;
  (void)story.meets(beat_of(11, 1, 5));
  (void)story.meets(beat_of(11, 3, 6));
  (void)story.meets(beat_of(12, 2, 9));
  const auto actions = story.meets(answers_to({11, 13}));
  REQUIRE(actions.size() == 1);
  const auto& down = std::get<SendDown>(actions[0]);
  CHECK(down.session == SessionId{3});
  CHECK(std::get<AckFromRelay>(down.message) == AckFromRelay{{7, 2, Millis{3'000}}});
}

TEST_CASE("relay: whoever has gone is not answered any more") {
  RelayStory story;
  (void)story.meets(beat_of(11, 1, 5));
  (void)story.meets(beat_of(12, 2, 5));
  CHECK(story.meets(SessionClosed{{1}}).empty());
  CHECK(story.meets(answers_to({11})).empty());
  CHECK(story.meets(answers_to({12})).size() == 1);
  const auto passed = story.after(62);
  REQUIRE(passed);
  CHECK(passed->beats == std::vector{beat_of(12, 2, 5).beat});
}

TEST_CASE("relay: more agents than it may have get no answer, until one has gone") {
  RelayStory story;
  for (std::size_t i = 0; i < relayed_max; ++i) {
    (void)story.meets(beat_of(1'000 + i, static_cast<std::int64_t>(i) + 1, 1));
  }
  (void)story.meets(beat_of(7, 5'000, 1));
  CHECK(story.meets(answers_to({7})).empty());
  (void)story.meets(SessionClosed{{1}});
  (void)story.meets(beat_of(7, 5'000, 2));
  CHECK(story.meets(answers_to({7})).size() == 1);
  const auto passed = story.after(62);
  REQUIRE(passed);
  CHECK(passed->beats.size() == relayed_max);  // as many as a message may have
}

}  // namespace
}  // namespace ddprun
