#include "rendezvous/store/session_ledger.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

namespace ddprun {
namespace {

const IpAddress address_1{{1}};
const IpAddress address_2{{2}};
constexpr int looks_max = 3;

SessionLedger with_sessions(std::initializer_list<IpAddress> addresses) {
  SessionLedger ledger(looks_max);
  std::int64_t id = 0;
  for (const IpAddress& address : addresses) ledger.on_opened({++id}, address);
  return ledger;
}

TEST_CASE("session ledger: L1 the oldest that is silent goes, from no address where one spoke") {
  SessionLedger ledger = with_sessions({address_1, address_2, address_2, address_1});
  CHECK(ledger.oldest_silent() == SessionId{1});
  ledger.on_bytes({4}, true, false);
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

TEST_CASE("session ledger: L4 of those that are held, the oldest of the largest crowd goes") {
  SessionLedger ledger(looks_max);
  CHECK_FALSE(ledger.most_crowded());
  ledger.on_held({1}, address_1);
  CHECK(ledger.most_crowded() == SessionId{1});
  for (const std::int64_t held : {2, 3, 4}) ledger.on_held({held}, address_2);
  CHECK(ledger.most_crowded() == SessionId{2});
  ledger.on_let_go({3}, address_2);
  CHECK(ledger.most_crowded() == SessionId{2});
  ledger.on_let_go({2}, address_2);
  ledger.on_held({5}, address_1);
  ledger.on_held({6}, address_1);
  CHECK(ledger.most_crowded() == SessionId{1});
  ledger.on_let_go({4}, address_2);
  ledger.on_let_go({4}, address_2);  // once is enough
  for (const std::int64_t held : {1, 5, 6}) ledger.on_let_go({held}, address_1);
  CHECK_FALSE(ledger.most_crowded());
}

void begin(SessionLedger& ledger, SessionId id) {
  ledger.on_bytes(id, false, true);
  ledger.on_rest_awaited(id);
}

void look(SessionLedger& ledger, int times) {
  for (int i = 0; i < times; ++i) ledger.on_look();
}

TEST_CASE("session ledger: L2 a request whose rest has not come after so many looks is overdue") {
  SessionLedger ledger = with_sessions({address_1, address_2});
  CHECK_FALSE(ledger.awaits_rest());
  begin(ledger, {1});
  CHECK(ledger.awaits_rest());
  look(ledger, 1);
  begin(ledger, {2});
  begin(ledger, {1});  // a byte more is not a new beginning
  look(ledger, looks_max - 2);
  CHECK_FALSE(ledger.overdue());
  look(ledger, 1);
  CHECK(ledger.overdue() == SessionId{1});
  SUBCASE("whole") {
    ledger.on_bytes({1}, true, false);
    CHECK_FALSE(ledger.overdue());
    look(ledger, 1);
    CHECK(ledger.overdue() == SessionId{2});
  }
  SUBCASE("whole, and the next is begun") {
    ledger.on_bytes({1}, true, true);
    ledger.on_rest_awaited({1});
    ledger.on_closed({2});
    look(ledger, looks_max - 1);
    CHECK_FALSE(ledger.overdue());
    look(ledger, 1);
    CHECK(ledger.overdue() == SessionId{1});
  }
  SUBCASE("closed") {
    ledger.on_closed({1});
    look(ledger, looks_max);
    CHECK(ledger.overdue() == SessionId{2});
    ledger.on_closed({2});
    CHECK_FALSE(ledger.overdue());
    CHECK_FALSE(ledger.awaits_rest());
  }
}

TEST_CASE("session ledger: L2 looks count from when the store is ready to read the rest") {
  SessionLedger ledger = with_sessions({address_1});
  ledger.on_bytes({1}, true, true);  // answers that nobody reads keep the store from reading on
  CHECK_FALSE(ledger.awaits_rest());
  look(ledger, looks_max);
  CHECK_FALSE(ledger.overdue());
  ledger.on_rest_awaited({1});
  CHECK_FALSE(ledger.overdue());
  look(ledger, looks_max);
  CHECK(ledger.overdue() == SessionId{1});
}

TEST_CASE("session ledger: L3 an address is of PyTorch 2.1 while a connection of that is open") {
  SessionLedger ledger = with_sessions({address_1, address_1, address_1, address_2});
  CHECK_FALSE(ledger.is_of_2_1(address_1));
  for (const std::int64_t id : {1, 2, 2}) ledger.on_2_1({id});
  CHECK(ledger.is_of_2_1(address_1));
  CHECK_FALSE(ledger.is_of_2_1(address_2));
  ledger.on_closed({1});
  CHECK(ledger.is_of_2_1(address_1));
  ledger.on_closed({2});
  CHECK_FALSE(ledger.is_of_2_1(address_1));  // the third connection is still open
  ledger.on_closed({3});
  ledger.on_opened({5}, address_1);
  CHECK_FALSE(ledger.is_of_2_1(address_1));
}

}  // namespace
}  // namespace ddprun
