#include "rendezvous/store/session_ledger.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

namespace ddprun {
namespace {

const IpAddress address_1{{1}};
const IpAddress address_2{{2}};

SessionLedger with_sessions(std::initializer_list<IpAddress> addresses) {
  SessionLedger ledger(Millis{1'000});
  std::int64_t id = 0;
  for (const IpAddress& address : addresses) ledger.on_opened({++id}, address);
  return ledger;
}

TEST_CASE("session ledger: L1 the oldest that is silent goes, from no address where one spoke") {
  SessionLedger ledger = with_sessions({address_1, address_2, address_2, address_1});
  CHECK(ledger.oldest_silent() == SessionId{1});
  ledger.on_bytes({4}, true, false, Instant{0});
  CHECK(ledger.oldest_silent() == SessionId{2});
  ledger.on_opened({5}, address_1);
  ledger.on_closed({2});
  CHECK(ledger.oldest_silent() == SessionId{3});
  ledger.on_closed({3});
  CHECK_FALSE(ledger.oldest_silent());
  ledger.on_closed({4});
  CHECK_FALSE(ledger.oldest_silent());  // others of that address are open still
  ledger.on_closed({1});
  ledger.on_closed({5});
  ledger.on_opened({6}, address_1);
  CHECK(ledger.oldest_silent() == SessionId{6});
}

TEST_CASE("session ledger: L2 a request that is not whole in time is overdue") {
  SessionLedger ledger = with_sessions({address_1, address_2});
  CHECK_FALSE(ledger.next_deadline());
  ledger.on_bytes({1}, false, true, Instant{100});
  ledger.on_bytes({2}, false, true, Instant{200});
  ledger.on_bytes({1}, false, true, Instant{900});  // a byte more is not a new beginning
  CHECK(ledger.next_deadline() == Instant{1'100});
  CHECK_FALSE(ledger.overdue(Instant{1'099}));
  CHECK(ledger.overdue(Instant{1'100}) == SessionId{1});
  SUBCASE("whole") {
    ledger.on_bytes({1}, true, false, Instant{1'000});
    CHECK(ledger.next_deadline() == Instant{1'200});
  }
  SUBCASE("whole, and the next is begun") {
    ledger.on_bytes({1}, true, true, Instant{1'000});
    CHECK(ledger.next_deadline() == Instant{1'200});
    ledger.on_closed({2});
    CHECK(ledger.next_deadline() == Instant{2'000});
  }
  SUBCASE("closed") {
    ledger.on_closed({1});
    CHECK(ledger.overdue(Instant{5'000}) == SessionId{2});
    ledger.on_closed({2});
    CHECK_FALSE(ledger.overdue(Instant{5'000}));
  }
}

}  // namespace
}  // namespace ddprun
