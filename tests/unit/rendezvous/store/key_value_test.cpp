#include "rendezvous/store/key_value.hpp"

#include "tests/unit/rendezvous/store/store_story.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace ddprun {
namespace {

const ToClients closed = {{1, "closed"}};

TEST_CASE("store: a conversation of PyTorch 1.13 is answered byte for byte") {
  StoreStory story;
  CHECK(story.says_legacy(1, "03 #5 'init/' #1") == hears(1, "#1"));
  CHECK(story.says_legacy(1, "00 #2 '/k' #2 'v1'") == silence);
  CHECK(story.says_legacy(1, "05 #1 #2 '/k'") == hears(1, "00"));
  CHECK(story.says_legacy(1, "02 #2 '/k'") == hears(1, "#2 'v1'"));
  CHECK(story.says_legacy(1, "03 #2 '/n' #5") == hears(1, "#5"));
  CHECK(story.says_legacy(1, "03 #2 '/n' #-2") == hears(1, "#3"));
  CHECK(story.says_legacy(1, "01 #2 '/k' #2 'v1' #2 'v2'") == hears(1, "#2 'v2'"));
  CHECK(story.says_legacy(1, "04 #1 #2 '/k'") == hears(1, "00"));
  CHECK(story.says_legacy(1, "06") == hears(1, "#3"));
  CHECK(story.says_legacy(1, "08 #2 '/k'") == hears(1, "#1"));
  CHECK(story.says_legacy(1, "05 #1 #5 '/nope'") == silence);
}

TEST_CASE("store: a conversation of PyTorch 2.6 is answered byte for byte") {
  StoreStory story;
  CHECK(story.says(1, "0d 98 62 00 00") == hears(1, "98 62 00 00"));
  CHECK(story.says(1, "04 #5 'init/' #1") == hears(1, "#1"));
  CHECK(story.says(1, "01 #2 '/k' #3 'v2+'") == silence);
  CHECK(story.says(1, "06 #1 #2 '/k' 03 #2 '/k'") == hears(1, "00 #3 'v2+'"));
  CHECK(story.says(1, "06 #1 #5 '/nope'") == silence);
  CHECK(story.says(1, "0c") == hears(1, "01"));
  CHECK(story.says(1, "09 #2 '/k' #4 'tail'") == silence);
  CHECK(story.says(1, "0b #2 #2 '/a' #1 '1' #2 '/b' #2 '22'") == silence);
  CHECK(story.says(1, "06 #3 #2 '/a' #2 '/b' #2 '/k'") == hears(1, "00"));
  CHECK(story.says(1, "0a #3 #2 '/a' #2 '/b' #2 '/k'") == hears(1, "#1 '1' #2 '22' #7 'v2+tail'"));
}

TEST_CASE("store: a conversation of PyTorch 2.14 is answered byte for byte") {
  StoreStory story;
  CHECK(story.says(1, "12 #4 '/bar' #1") == hears(1, "00"));
  CHECK(story.says(1, "12 #5 '/bar2' #2") == silence);
  CHECK(story.says(1, "0c") == hears(1, "01"));
  CHECK(story.says(1, "0e #2 '/q' #2 'x1'") == silence);
  CHECK(story.says(1, "0e #2 '/q' #2 'x2'") == silence);
  CHECK(story.says(1, "10 #2 '/q'") == hears(1, "#2"));
  CHECK(story.says(1, "06 #1 #2 '/q'") == hears(1, "00"));
  CHECK(story.says(1, "0f #2 '/q'") == hears(1, "#2 #2 'x1'"));
  CHECK(story.says(1, "0f #2 '/q'") == hears(1, "#1 #2 'x2'"));
  CHECK(story.says(1, "0f #2 '/q'") == hears(1, "#0"));
  CHECK(story.says(1, "10 #2 '/q'") == hears(1, "#0"));
  const ToClients keys = story.says(1, "11");
  const bool all_listed =
      keys == hears(1, "#2 #4 '/bar' #5 '/bar2'") || keys == hears(1, "#2 #5 '/bar2' #4 '/bar'");
  CHECK(all_listed);
}

TEST_CASE("store: set replaces, append extends or creates, get of nothing is empty") {
  StoreStory story;
  CHECK(story.says(1, "03 #1 'k'") == hears(1, "#0"));
  CHECK(story.says(1, "01 #1 'k' #3 'one' 01 #1 'k' #3 'two' 03 #1 'k'") == hears(1, "#3 'two'"));
  CHECK(story.says(1, "09 #1 'n' #1 'a' 09 #1 'n' #1 'b' 03 #1 'n'") == hears(1, "#2 'ab'"));
  CHECK(story.says(1, "01 #1 'k' #0 03 #1 'k'") == hears(1, "#0"));
  CHECK(story.says(1, "05 #1 #1 'k'") == hears(1, "00"));  // empty is not missing
}

TEST_CASE("store: compare_set answers what the key holds, or what was expected of a missing one") {
  StoreStory story;
  CHECK(story.says(1, "02 #1 'k' #1 'x' #1 'd'") == hears(1, "#1 'x'"));
  CHECK(story.says(1, "05 #1 #1 'k'") == hears(1, "01"));
  CHECK(story.says(1, "02 #1 'k' #0 #1 'd'") == hears(1, "#1 'd'"));
  CHECK(story.says(1, "02 #1 'k' #1 'x' #1 'e'") == hears(1, "#1 'd'"));
  CHECK(story.says(1, "02 #1 'k' #0 #1 'e'") == hears(1, "#1 'd'"));
  CHECK(story.says(1, "02 #1 'k' #1 'd' #1 'e'") == hears(1, "#1 'e'"));
  CHECK(story.says(1, "03 #1 'k'") == hears(1, "#1 'e'"));
}

TEST_CASE("store: add keeps decimal text, from nothing or from what set has written") {
  StoreStory story;
  CHECK(story.says(1, "04 #1 'n' #-7") == hears(1, "#-7"));
  CHECK(story.says(1, "03 #1 'n'") == hears(1, "#2 '-7'"));
  CHECK(story.says(1, "01 #1 'n' #2 '40' 04 #1 'n' #2") == hears(1, "#42"));
  CHECK(story.says(1, "04 #1 'n' #0") == hears(1, "#42"));
}

TEST_CASE("store: add to what is no number closes the connection and keeps the value") {
  for (const char* value : {"abc", "12x", "", " 1", "99999999999999999999"}) {
    CAPTURE(std::string(value));
    StoreStory story;
    const std::string set = fmt::format("01 #1 'n' #{} '{}'", std::string(value).size(), value);
    CHECK(story.says(1, set) == silence);
    CHECK(story.says(1, "04 #1 'n' #1") == closed);
    CHECK(story.says(2, "03 #1 'n'") ==
          hears(2, fmt::format("#{} '{}'", std::string(value).size(), value)));
  }
}

TEST_CASE("store: add reads no more of a value than a counter can have, zeros before it included") {
  StoreStory story;
  (void)story.says(1, "01 #1 'n' #20 '-9223372036854775807' 01 #1 'z' #20 '00000000000000000007'");
  CHECK(story.says(1, "04 #1 'n' #1 04 #1 'z' #1") == hears(1, "#-9223372036854775806 #8"));
  CHECK(story.says(1, "01 #1 'z' #21 '000000000000000000007' 04 #1 'z' #1") == closed);
  CHECK(story.says(2, "03 #1 'z'") == hears(2, "#21 '000000000000000000007'"));
}

TEST_CASE("store: add beyond 64 bits closes the connection and keeps the value") {
  StoreStory story;
  CHECK(story.says(1, "04 #1 'n' #9223372036854775807") == hears(1, "#9223372036854775807"));
  CHECK(story.says(1, "04 #1 'n' #1") == closed);
  CHECK(story.says(1, "04 #1 'm' #-9223372036854775808") == hears(1, "#-9223372036854775808"));
  CHECK(story.says(1, "04 #1 'm' #-1") == closed);
  CHECK(story.says(2, "04 #1 'n' #0") == hears(2, "#9223372036854775807"));
}

TEST_CASE("store: check is about all of its keys, queues among them") {
  StoreStory story;
  (void)story.says(1, "01 #1 'a' #0 0e #1 'q' #1 'x'");
  CHECK(story.says(1, "05 #2 #1 'a' #1 'q'") == hears(1, "00"));
  CHECK(story.says(1, "05 #2 #1 'a' #1 'z'") == hears(1, "01"));
  CHECK(story.says(1, "05 #0") == hears(1, "00"));
  CHECK(story.says(1, "0f #1 'q' 05 #1 #1 'q'") == hears(1, "#1 #1 'x' 01"));
}

TEST_CASE("store: delete says how many, and a deleted key is missing again") {
  StoreStory story;
  (void)story.says(1, "01 #1 'k' #1 'v'");
  CHECK(story.says(1, "08 #1 'k'") == hears(1, "#1"));
  CHECK(story.says(1, "08 #1 'k'") == hears(1, "#0"));
  CHECK(story.says(1, "05 #1 #1 'k' 07") == hears(1, "01 #0"));
  CHECK(story.says(1, "02 #1 'k' #0 #1 'w'") == hears(1, "#1 'w'"));
}

TEST_CASE("store: list_keys and count_keys agree") {
  StoreStory story;
  CHECK(story.says(1, "11") == hears(1, "#0"));
  (void)story.says(1, "01 #2 '/k' #1 'v'");
  CHECK(story.says(1, "11") == hears(1, "#1 #2 '/k'"));
  CHECK(story.says(1, "07") == hears(1, "#1"));
  CHECK(story.store.key_count() == 1);
}

TEST_CASE("store: the limit of keys holds for values and queues together") {
  StoreStory story({.keys_max = 2});
  CHECK(story.says(1, "01 #1 'a' #1 'v' 0e #1 'q' #1 'v'") == silence);
  CHECK(story.says(1, "01 #1 'a' #1 'w' 0e #1 'q' #1 'w' 09 #1 'a' #1 'x'") == silence);
  for (const char* one_more : {"01 #1 'b' #1 'v'",
                               "04 #1 'b' #1",
                               "09 #1 'b' #1 'v'",
                               "0b #1 #1 'b' #1 'v'",
                               "0e #1 'b' #1 'v'",
                               "12 #1 'b' #1"}) {
    CAPTURE(std::string(one_more));
    CHECK(story.says(1, one_more) == closed);
    CHECK(story.store.key_count() == 1);
  }
  CHECK(story.says(1, "08 #1 'a'") == hears(1, "#1"));
  CHECK(story.says(1, "01 #1 'b' #1 'v'") == silence);
}

TEST_CASE("store: what is kept costs its bytes and an entry, and all comes back") {
  StoreStory story({.entry_bytes = 10});
  const auto takes = [&](std::size_t bytes) { return story.budget.used() == bytes; };
  for (int round = 0; round < 3; ++round) {
    CHECK(story.says(1, "01 #2 'aa' #3 'vvv'") == silence);
    CHECK(takes(15));
    CHECK(story.says(1, "09 #2 'aa' #2 'vv' 01 #2 'bb' #1 'v' 01 #2 'bb' #0") == silence);
    CHECK(takes(29));
    CHECK(story.says(2, "06 #2 #1 'a' #1 'b'") == silence);  // a wait, and a list of two
    CHECK(takes(61));
    CHECK(story.says(3, "06 #2 #1 'a' #1 'b'") == silence);  // another wait, the same list
    CHECK(takes(71));
    CHECK(story.says(1, "0e #1 'q' #0 0e #1 'q' #4 'qqqq'") == silence);
    CHECK(takes(106));
    CHECK(story.says_legacy(4, "07 #1 'k'") == hears(4, "03"));
    CHECK(takes(118));
    CHECK(story.says(1, "04 #1 'n' #100") == hears(1, "#100"));
    CHECK(takes(132));
    for (int client = 2; client <= 4; ++client) story.leaves(client);
    CHECK(story.says(1, "0f #1 'q' 0f #1 'q'") == hears(1, "#2 #0 #1 #4 'qqqq'"));
    CHECK(story.says(1, "08 #2 'aa' 08 #2 'bb' 08 #1 'n'") == hears(1, "#1 #1 #1"));
    CHECK(takes(0));
  }
}

TEST_CASE("store: a request that may take more than is left is refused, and changes nothing") {
  const std::string large(1'000, 'v');
  const std::string set_large = "01 #1 'a' #1000 '" + large + "'";
  StoreStory story({}, 2'000);
  CHECK(story.says(1, set_large) == silence);
  const std::size_t taken = story.budget.used();
  for (const std::string& more : {"01 #1 'b' #1000 '" + large + "'",
                                  "0e #1 'b' #1000 '" + large + "'",
                                  "0b #2 #1 'c' #1 'v' #1 'd' #1000 '" + large + "'",
                                  "06 #4 #1 'w' #1 'x' #1 'y' #1 'z'" + std::string(),
                                  "0a #5 #1 'a' #1 'a' #1 'a' #1 'a' #1 'a'" + std::string()}) {
    CAPTURE(more.substr(0, 40));
    CHECK(story.says(1, more) == closed);
    CHECK(story.budget.used() == taken);
    CHECK(story.store.key_count() == 1);
  }
  CHECK(story.says(1, "04 #1 'n' #1") == hears(1, "#1"));
  CHECK(story.says(1, "08 #1 'a'") == hears(1, "#1"));
  CHECK(story.says(1, "0e #1 'b' #1000 '" + large + "'") == silence);
}

TEST_CASE("store: whoever keeps nothing may use the reserve of a full store, and delete") {
  StoreStory story({}, 4'000, 1'000);
  (void)story.says(1, "01 #1 'k' #1 'v' 0e #1 'q' #1 'x'");
  (void)story.says_legacy(2, "07 #1 'k'");
  int keys = 1;
  for (const char* adding : {"01 #3 '{:03}' #5 'value'", "04 #3 '{:03}' #1"}) {
    bool is_refused = false;  // the second needs less, and fills what the first leaves
    for (; !is_refused && keys < 20; ++keys) {
      is_refused = story.says(1, fmt::format(fmt::runtime(adding), keys)) == closed;
    }
    --keys;
    CHECK(is_refused);
  }
  const std::size_t taken = story.budget.used();
  CHECK(taken <= 3'000);
  for (const char* keeping : {"01 #1 'k' #2 'vv'",
                              "02 #1 'k' #1 'v' #1 'w'",
                              "04 #1 'n' #1",
                              "06 #2 #1 'k' #1 'z'",
                              "09 #1 'k' #1 'v'",
                              "0b #1 #1 'k' #1 'v'",
                              "0e #1 'q' #1 'y'",
                              "12 #1 'b' #1"}) {
    CAPTURE(std::string(keeping));
    CHECK(story.says(1, keeping) == closed);
    CHECK(story.budget.used() == taken);
  }
  CHECK(story.says_legacy(5, "07 #1 'z'") == ToClients{{5, "closed"}});
  CHECK(story.says(4, "06 #2 #1 'k' #1 'q' 03 #1 'k'") == hears(4, "00 #1 'v'"));
  CHECK(story.says(4,
                   "05 #10 #1 'k' #1 'k' #1 'k' #1 'k' #1 'k' #1 'k' #1 'k' #1 'k' #1 'k' "
                   "#1 'k'") == hears(4, "00"));
  CHECK(story.says(4, "07 10 #1 'q' 0c") == hears(4, fmt::format("#{} #1 01", keys)));
  CHECK(story.says(4, "0a #2 #1 'k' #1 'z'") == hears(4, "#1 'v' #0"));
  CHECK(story.says(4, "0f #1 'q'") == hears(4, "#1 #1 'x'"));
  CHECK(story.says(4, "08 #1 'k'")[4] == hex(wire("#1")));
  CHECK(story.store.key_count() == static_cast<std::size_t>(keys) - 1);
}

TEST_CASE("store: a large value is sent to many and kept for the slow, and taken once") {
  const std::string value(100'000, 'v');
  StoreStory story;
  (void)story.says_legacy(1, "07 #1 'k'");
  (void)story.says_legacy(2, "07 #1 'k'");
  std::vector<StoreReply> replies;
  StoreRequest request{.operation = StoreOperation::set, .keys = {"k"}, .values = {value}};
  CHECK(story.store.on_request({3}, StoreDialect::validated, request, replies).has_value());
  request = {.operation = StoreOperation::multi_get};
  for (int i = 0; i < 50; ++i) request.keys.push_back("k");
  CHECK(story.store.on_request({3}, StoreDialect::validated, request, replies).has_value());
  REQUIRE(replies.size() == 3);
  CHECK(replies.back().bytes.size() == 50 * (8 + value.size()));
  CHECK(story.budget.used() < value.size() + 2'000);
  request = {.operation = StoreOperation::append, .keys = {"k"}, .values = {"w"}};
  CHECK(story.store.on_request({3}, StoreDialect::validated, request, replies).has_value());
  CHECK(story.budget.used() > 2 * value.size());  // the replies have what was there before
  CHECK(replies[2].bytes.text().substr(8, value.size()) == value);
  replies.clear();
  CHECK(story.budget.used() < value.size() + 2'000);
}

TEST_CASE("store: so many keys can be watched, and those of who has left no longer count") {
  StoreStory story({.watches_max = 2});
  CHECK(story.says_legacy(1, "07 #1 'a' 07 #1 'a'") == hears(1, "03 03"));
  CHECK(story.says_legacy(2, "07 #1 'a'") == hears(2, "03"));
  CHECK(story.says_legacy(3, "07 #1 'b'") == ToClients{{3, "closed"}});
  story.leaves(1);
  CHECK(story.says_legacy(3, "07 #1 'b'") == hears(3, "03"));
}

TEST_CASE("store: a watch takes both copies of its key from the budget, until its client leaves") {
  const std::string key(1'000, 'k');
  StoreStory story({.entry_bytes = 100}, 10'000);
  const std::size_t before = story.budget.used();
  CHECK(story.says_legacy(1, "07 #1000 '" + key + "'") == hears(1, "03"));
  CHECK(story.budget.used() == before + 2'100);
  story.leaves(1);
  CHECK(story.budget.used() == before);
  StoreStory full({.entry_bytes = 100}, 2'000);
  CHECK(full.says_legacy(1, "07 #1000 '" + key + "'") == closed);
}

TEST_CASE("store: a request that is refused is not answered as if it had been performed") {
  StoreStory story({.keys_max = 0});
  CHECK(story.says(1, "04 #1 'k' #1") == closed);
  CHECK(story.says(1, "12 #1 'k' #1") == closed);
  CHECK(story.says(1, "02 #1 'k' #0 #1 'd'") == closed);
}

}  // namespace
}  // namespace ddprun
