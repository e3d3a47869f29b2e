#include "rendezvous/store/reply_bytes.hpp"

#include "rendezvous/store/store_codec.hpp"
#include "tests/unit/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <span>

namespace ddprun {
namespace {

constexpr std::size_t large = 2 * ReplyBytes::share_from;

std::string counted_text(const std::string& text) {
  std::string bytes;
  encode_string(text, bytes);
  return bytes;
}

/// All of it, taken in pieces of up to `piece_max` bytes.
std::string taken(ReplyBytes bytes, std::size_t views_count, std::size_t piece_max) {
  std::string all;
  std::array<std::string_view, 4> views;
  while (!bytes.empty()) {
    const std::size_t before = bytes.size();
    const std::size_t count = bytes.front(std::span(views).first(views_count), piece_max);
    REQUIRE(count > 0);
    std::size_t sent = 0;
    for (std::size_t i = 0; i < count; ++i) {
      REQUIRE(!views[i].empty());
      all += views[i];
      sent += views[i].size();
    }
    REQUIRE(sent <= piece_max);
    bytes.drop_front(sent);
    REQUIRE(bytes.size() == before - sent);
  }
  return all;
}

TEST_CASE("reply bytes: own bytes and values come in the order in which they were added") {
  StoreBudget memory(1'000'000);
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    ReplyBytes all;
    std::string expected;
    for (int part = 0; part < 6; ++part) {
      ReplyBytes more;
      for (int i = 0; i < 3; ++i) {
        const std::string text(below(random, large), static_cast<char>('a' + i + 3 * part));
        if (below(random, 2) == 0) {
          more.own() += text;
          expected += text;
        } else {
          more.add_value(StoreValue(text, memory));
          expected += counted_text(text);
        }
      }
      all.append(std::move(more));
    }
    CHECK(all.size() == expected.size());
    CHECK(all.text() == expected);
    CHECK(taken(all, 1 + below(random, 4), 1 + below(random, 400)) == expected);
  }
  CHECK(memory.used() == 0);
}

TEST_CASE("reply bytes: what is appended to bytes that were sent in part comes after the rest") {
  StoreBudget memory(100'000'000);
  Random random(6);
  ReplyBytes bytes;
  std::string left;
  for (int round = 0; round < 20'000; ++round) {
    const std::string text(below(random, large), static_cast<char>('a' + round % 26));
    ReplyBytes more;
    more.own() = "x";
    more.add_value(StoreValue(text, memory));
    bytes.append(std::move(more));
    left += "x" + counted_text(text);
    const std::size_t sent = std::min<std::size_t>(below(random, 2 * large), left.size() - 1);
    bytes.drop_front(sent);
    left.erase(0, sent);
    if (bytes.size() != left.size()) FAIL("round " << round);
  }
  CHECK(bytes.text() == left);
  CHECK(bytes.held() < left.size() + 1'100'000);  // what was sent is not kept for ever
}

TEST_CASE("reply bytes: a large value is shared, a small one copied, and neither after the end") {
  StoreBudget memory(1'000'000);
  const StoreValue small(std::string(ReplyBytes::share_from - 1, 's'), memory);
  const StoreValue shared(std::string(ReplyBytes::share_from, 'v'), memory);
  ReplyBytes bytes;
  bytes.add_value(small);
  CHECK_FALSE(small.is_shared());
  bytes.add_value(shared);
  CHECK(shared.is_shared());
  CHECK(bytes.held() <= 2 * ReplyBytes::value_cost_max);
  bytes.drop_front(bytes.size());
  CHECK_FALSE(shared.is_shared());
  CHECK(bytes.held() == 0);
}

TEST_CASE("reply bytes: a value that the store has replaced is held by those who shared it") {
  StoreBudget memory(1'000'000);
  ReplyBytes bytes;
  StoreValue value(std::string(3'000, 'v'), memory);
  bytes.add_value(value);
  const StoreValue copy = value;
  StoreValue moved = std::move(value);
  CHECK(bytes.held_of_old() == 0);
  moved.append("w", memory);
  CHECK(bytes.held_of_old() == 0);  // the copy has it still
  {
    const StoreValue last = copy;
    moved = last;
  }
  moved.replace(std::string(5'000, 'w'), memory);
  CHECK(bytes.held_of_old() == 0);
  bytes.add_value(moved);
  moved.replace("x", memory);
  CHECK(bytes.held_of_old() == 5'000);
  bytes.drop_front(bytes.size());
  CHECK(bytes.held_of_old() == 0);
}

}  // namespace
}  // namespace ddprun
