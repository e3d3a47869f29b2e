#include "rendezvous/store/store_waits.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {
namespace {

StoreTexts wait_list(std::size_t count) {
  StoreTexts keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(fmt::format("k{:04}", i));
  return keys;
}

/// What it costs, in keys looked for, to wake so many sessions that wait for as many keys, of which
/// the first comes last, after `meanwhile`.
template <typename Meanwhile>
std::uint64_t looks_of_the_last_key(std::size_t count, const Meanwhile& meanwhile) {
  std::set<std::string, std::less<>> there;
  const auto is_present = [&](std::string_view key) { return there.contains(key); };
  StoreWaits waits(0, {});
  const StoreTexts keys = wait_list(count);
  for (std::size_t i = 0; i < count; ++i) {
    const SessionId session{static_cast<std::int64_t>(i)};
    waits.begin(session, keys);
    CHECK(!waits.go_on(session, is_present));
  }
  for (const std::string_view key : keys) there.emplace(key);
  meanwhile(waits);
  const std::uint64_t before = waits.looks();
  for (const SessionId session : waits.take_all(keys[0])) CHECK(waits.go_on(session, is_present));
  CHECK(waits.bytes() == 0);
  return waits.looks() - before;
}

TEST_CASE("store waits: those who wait for one list share what one of them has found in it") {
  constexpr std::size_t count = 500;
  CHECK(looks_of_the_last_key(count, [](StoreWaits&) {}) <= 2 * count);
  CHECK(looks_of_the_last_key(count, [](StoreWaits& waits) { waits.on_deleted(); }) <= 2 * count);
}

TEST_CASE("store waits: lists whose keys start elsewhere, or come in another order, differ") {
  CHECK(hash_of_list({"ab", "c"}, {}) != hash_of_list({"a", "bc"}, {}));
  CHECK(hash_of_list({"ab"}, {}) != hash_of_list({"ab", ""}, {}));
  CHECK(hash_of_list({"a", "b"}, {}) != hash_of_list({"b", "a"}, {}));
  CHECK(hash_of_list({"a"}, {}) != hash_of_list({"a", "a"}, {}));
}

TEST_CASE("store waits: B1 who is filed is due no longer, and who has left is not there") {
  const auto nothing = [](std::string_view) { return false; };
  const auto all = [](std::string_view) { return true; };
  StoreWaits waits(1, {});
  for (const std::int64_t session : {1, 2, 3}) {
    waits.begin({session}, {"a"});
    CHECK(!waits.go_on({session}, nothing));
  }
  CHECK(!waits.go_on({1}, all));  // filed: not due
  waits.forget({2});
  CHECK(waits.take_first("a") == SessionId{1});
  CHECK(waits.take_all("a") == std::vector<SessionId>{{3}});
  CHECK(waits.take_all("a").empty());
  waits.forget({1});  // due
  CHECK(!waits.go_on({1}, all));
  CHECK(waits.go_on({3}, all));
  CHECK(waits.bytes() == 0);
}

TEST_CASE("store waits: B3 a key that was missing is looked for again once one has come") {
  std::set<std::string, std::less<>> there;
  const auto is_present = [&](std::string_view key) { return there.contains(key); };
  StoreWaits waits(1, {});
  for (const std::int64_t session : {1, 2, 3}) {
    waits.begin({session}, {"a", "b"});
    CHECK(!waits.go_on({session}, is_present));
  }
  there.insert("a");
  CHECK(waits.take_first("a") == SessionId{1});
  CHECK(!waits.go_on({1}, is_present));        // filed at b
  for (const std::int64_t session : {2, 3}) {  // B4
    CHECK(waits.take_successor() == SessionId{session});
    CHECK(!waits.go_on({session}, is_present));
  }
  there.insert("b");
  CHECK(waits.take_first("b") == SessionId{1});
  CHECK(waits.go_on({1}, is_present));
  waits.begin({4}, {"a", "b"});
  CHECK(waits.go_on({4}, is_present));
  for (const SessionId session : waits.take_all("b")) CHECK(waits.go_on(session, is_present));
  CHECK(waits.bytes() == 0);
}

TEST_CASE("store waits: B4 who leaves a value of a queue has a successor, while the queue has it") {
  std::set<std::string, std::less<>> there;
  const auto is_present = [&](std::string_view key) { return there.contains(key); };
  StoreWaits waits(1, {});
  waits.begin({1}, {"q", "x"});
  for (const std::int64_t session : {2, 3, 4}) waits.begin({session}, {"q"});
  for (const std::int64_t session : {1, 2, 3, 4}) CHECK(!waits.go_on({session}, is_present));
  there.insert("q");
  CHECK(waits.take_first("q") == SessionId{1});
  CHECK(!waits.has_successor());
  CHECK(!waits.go_on({1}, is_present));  // filed at x
  CHECK(waits.has_successor());
  CHECK(waits.take_successor() == SessionId{2});
  waits.forget({2});  // due
  CHECK(waits.take_successor() == SessionId{3});
  there.erase("q");  // others have it before its turn
  waits.on_deleted();
  CHECK(!waits.go_on({3}, is_present));
  CHECK(!waits.has_successor());
  there.insert("q");
  CHECK(waits.take_first("q") == SessionId{4});
  CHECK(waits.go_on({4}, is_present));
  CHECK(!waits.has_successor());
  CHECK(!waits.take_successor());
  for (const std::int64_t session : {1, 3}) waits.forget({session});
  CHECK(!waits.has_successor());
  CHECK(waits.bytes() == 0);
}

TEST_CASE("store waits: a barrier lets all pass that have not left, and waits for no key") {
  StoreWaits waits(1, {});
  for (const std::int64_t session : {5, 6, 7}) waits.begin_at_barrier({session}, "b");
  CHECK(waits.take_all("b").empty());
  waits.forget({6});
  CHECK(waits.open_barrier("b") == std::vector<SessionId>{{5}, {7}});
  CHECK(waits.open_barrier("b").empty());
  CHECK(waits.bytes() == 0);
}

}  // namespace
}  // namespace ddprun
