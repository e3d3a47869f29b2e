#include "rendezvous/membership/relay_path.hpp"

#include "tests/unit/usual_times.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

/// A heartbeat each 500 ms.
RelayPath connected_at(Instant now) {
  RelayPath path(usual_times);
  CHECK(path.assign(now, "r:1") == ConnectionId{});
  path.connecting({4});
  path.up();
  path.proven(now);
  return path;
}

TEST_CASE("relay path: it connects to the relay that it is told, and ends the one before") {
  RelayPath path(usual_times);
  CHECK_FALSE(path.connect_at());
  CHECK(path.assign(Instant{100}, "r:1") == ConnectionId{});
  CHECK(path.connect_at() == Instant{100});
  CHECK(path.address() == "r:1");
  path.connecting({4});
  CHECK_FALSE(path.connect_at());
  CHECK(path.has({4}));
  CHECK_FALSE(path.has({3}));
  CHECK_FALSE(path.has({}));
  CHECK(path.assign(Instant{200}, "r:1") == ConnectionId{});
  CHECK_FALSE(path.connect_at());
  CHECK(path.assign(Instant{300}, "s:1") == ConnectionId{4});
  CHECK_FALSE(path.has({4}));
  CHECK(path.connect_at() == Instant{300});
  CHECK(path.assign(Instant{400}, "") == ConnectionId{});
  CHECK_FALSE(path.connect_at());
}

TEST_CASE("relay path: it suffices only while the relay answers, for a quarter of the lease") {
  RelayPath path = connected_at(Instant{1'000});
  CHECK(path.line(Instant{1'000}) == ConnectionId{4});
  CHECK_FALSE(path.suffices(Instant{1'000}));
  path.answered(Instant{1'000});
  CHECK(path.suffices(Instant{1'750}));
  CHECK_FALSE(path.suffices(Instant{1'751}));
  CHECK(path.line(Instant{1'751}) == ConnectionId{4});
}

TEST_CASE("relay path: it is not used where the agent's own connection was silent for long") {
  RelayPath path = connected_at(Instant{1'000});
  path.answered(Instant{33'000});
  CHECK(path.suffices(Instant{33'000}));
  CHECK_FALSE(path.line(Instant{33'001}));
  CHECK_FALSE(path.suffices(Instant{33'001}));
  path.proven(Instant{33'100});
  CHECK(path.suffices(Instant{33'100}));
}

TEST_CASE("relay path: a connection that ends is made again after the time of a silent agent") {
  RelayPath path = connected_at(Instant{1'000});
  path.answered(Instant{1'000});
  path.down(Instant{1'200});
  CHECK_FALSE(path.line(Instant{1'200}));
  CHECK_FALSE(path.suffices(Instant{1'200}));
  CHECK(path.connect_at() == Instant{5'200});
  path.connecting({5});
  path.up();
  CHECK(path.line(Instant{5'300}) == ConnectionId{5});
  CHECK_FALSE(path.suffices(Instant{5'300}));
}

}  // namespace
}  // namespace ddprun
