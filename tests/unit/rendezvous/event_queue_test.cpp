#include "rendezvous/event_queue.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace ddprun {
namespace {

TEST_CASE("event queue: what an event causes comes after all that was there") {
  EventQueue<int> events;
  std::vector<int> fed;
  const auto feed = [&](int event) {
    fed.push_back(event);
    if (event >= 10) return;
    events.push(event * 10);
    CHECK_FALSE(events.drain([](int) { FAIL("fed inside of another"); }));
    CHECK(fed.back() == event);
  };
  events.push(1);
  events.push(2);
  CHECK(events.drain(feed));
  CHECK(fed == std::vector<int>{1, 2, 10, 20});
  CHECK(events.drain(feed));  // nothing is there
  CHECK(fed.size() == 4);
}

TEST_CASE("event queue: what is cleared meanwhile is not handed on") {
  EventQueue<int> events;
  std::vector<int> fed;
  events.push(1);
  events.push(2);
  CHECK(events.drain([&](int event) {
    fed.push_back(event);
    events.clear();
  }));
  CHECK(fed == std::vector<int>{1});
}

}  // namespace
}  // namespace ddprun
