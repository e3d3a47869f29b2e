// Who waits in the store, and who is woken.
#include "tests/unit/rendezvous/store/store_story.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace ddprun {
namespace {

TEST_CASE("store: a wait is answered when the last missing key appears, and once") {
  StoreStory story;
  CHECK(story.says(1, "06 #2 #1 'a' #1 'b'") == silence);
  CHECK(story.says(2, "01 #1 'b' #1 'v'") == silence);
  CHECK(story.says(2, "01 #1 'a' #1 'v'") == hears(1, "00"));
  CHECK(story.says(2, "01 #1 'a' #1 'w' 01 #1 'b' #1 'w'") == silence);
}

TEST_CASE("store: whatever makes a key wakes those who wait for it") {
  for (const char* making : {"01 #1 'k' #1 'v'",
                             "02 #1 'k' #0 #1 'v'",
                             "04 #1 'k' #1",
                             "09 #1 'k' #1 'v'",
                             "0b #1 #1 'k' #1 'v'",
                             "0e #1 'k' #1 'v'",
                             "12 #1 'k' #2"}) {
    CAPTURE(std::string(making));
    StoreStory story;
    CHECK(story.says(1, "06 #1 #1 'k'") == silence);
    CHECK(story.says(2, making)[1] == "00 ");
  }
}

TEST_CASE("store: what makes no key wakes nobody") {
  StoreStory story;
  CHECK(story.says(1, "06 #1 #1 'k'") == silence);
  CHECK(story.says(2, "02 #1 'k' #1 'x' #1 'v'") == hears(2, "#1 'x'"));
  CHECK(story.says(2, "08 #1 'k'") == hears(2, "#0"));
  CHECK(story.says(2, "03 #1 'k'") == hears(2, "#0"));
}

TEST_CASE("store: everybody who waits for a key is woken in the order of asking") {
  StoreStory story;
  for (int client = 1; client <= 3; ++client) (void)story.says(client, "06 #1 #1 'k'");
  const ToClients all{{1, "00 "}, {2, "00 "}, {3, "00 "}};
  CHECK(story.says(4, "01 #1 'k' #1 'v'") == all);
}

TEST_CASE("store: I3 a wait looks for its keys in order, and each must be there in its turn") {
  StoreStory story;
  CHECK(story.says(1, "06 #2 #1 'a' #1 'b'") == silence);
  CHECK(story.says(2, "01 #1 'a' #1 'v' 08 #1 'a'") == hears(2, "#1"));
  CHECK(story.says(2, "01 #1 'b' #1 'v'") == hears(1, "00"));

  CHECK(story.says(3, "06 #2 #1 'c' #1 'd'") == silence);  // gone again before its turn
  CHECK(story.says(2, "01 #1 'd' #1 'v' 08 #1 'd'") == hears(2, "#1"));
  CHECK(story.says(2, "01 #1 'c' #1 'v'") == silence);
  CHECK(story.says(2, "01 #1 'd' #1 'v'") == hears(3, "00"));
}

TEST_CASE("store: many clients that each bring a key and wait for all go on with the last one") {
  constexpr int count = 300;
  std::string wait = fmt::format("06 #{}", count);
  for (int i = 0; i < count; ++i) wait += fmt::format(" #4 'k{:03}'", i);
  StoreStory story;
  for (int client = 0; client < count - 1; ++client) {
    CHECK(story.says(client, fmt::format("01 #4 'k{:03}' #1 'v'", client)) == silence);
    CHECK(story.says(client, wait) == silence);
  }
  ToClients everybody;
  for (int client = 0; client < count - 1; ++client) everybody[client] = "00 ";
  CHECK(story.says(count, fmt::format("01 #4 'k{:03}' #1 'v'", count - 1)) == everybody);
}

TEST_CASE("store: what one client has found of a list is not taken for there when it has gone") {
  StoreStory story;
  (void)story.says(9, "01 #1 'a' #1 'v'");
  CHECK(story.says(1, "06 #2 #1 'a' #1 'b'") == silence);
  CHECK(story.says(9, "08 #1 'a'") == hears(9, "#1"));
  CHECK(story.says(2, "06 #2 #1 'a' #1 'b'") == silence);      // waits for a
  CHECK(story.says(9, "01 #1 'b' #1 'v'") == hears(1, "00"));  // who has seen a
  CHECK(story.says(9, "01 #1 'a' #1 'v'") == hears(2, "00"));

  (void)story.says(9, "0e #1 'q' #1 'v'");
  CHECK(story.says(3, "06 #2 #1 'q' #1 'c'") == silence);
  CHECK(story.says(9, "0f #1 'q'") == hears(9, "#1 #1 'v'"));
  CHECK(story.says(4, "06 #2 #1 'q' #1 'c'") == silence);
  CHECK(story.says(9, "01 #1 'c' #1 'v'") == hears(3, "00"));
}

TEST_CASE("store: I4 what wakes many waits of many keys is done in turns") {
  constexpr int clients = 20;
  StoreStory story({.looks_max = 100});
  for (int client = 0; client < clients; ++client) {  // each list is another one, of 30 keys
    std::string wait = fmt::format("06 #32 #1 'k' #4 'o{:03}'", client);
    for (int i = 0; i < 30; ++i) wait += fmt::format(" #4 'k{:03}'", i);
    CHECK(story.says(client, wait) == silence);
    (void)story.says(99,
                     fmt::format("01 #4 'o{:03}' #1 'v' 01 #4 'k{:03}' #1 'v'", client, client));
  }
  for (int i = clients; i < 30; ++i) (void)story.says(99, fmt::format("01 #4 'k{:03}' #1 'v'", i));
  std::size_t woken = story.says(99, "01 #1 'k' #1 'v'").size();
  CHECK(woken > 0);
  CHECK(woken < 10);
  int turns = 0;
  for (; story.store.has_work(); ++turns) {
    std::vector<StoreReply> replies;
    story.store.work(replies);
    CHECK(replies.size() < 10);
    woken += replies.size();
  }
  CHECK(turns > 3);
  CHECK(woken == clients);
}

TEST_CASE("store: I4 requests between two turns share one turn's looks") {
  constexpr int clients = 20;
  std::string sets;
  std::string pushes;
  std::string multi_set = fmt::format("0b #{}", clients);
  for (int client = 0; client < clients; ++client) {
    sets += fmt::format(" 01 #4 'k{:03}' #0", client);
    pushes += fmt::format(" 0e #4 'k{:03}' #0", client);
    multi_set += fmt::format(" #4 'k{:03}' #0", client);
  }
  for (const std::string& requests : {sets, pushes, multi_set}) {
    CAPTURE(requests.substr(0, 30));
    StoreStory story({.looks_max = 100});
    for (int client = 0; client < clients; ++client) {  // the second of 30 keys is another one
      std::string wait = fmt::format("06 #30 #4 'k{:03}' #4 'o{:03}'", client, client);
      for (int i = 0; i < 28; ++i) wait += fmt::format(" #4 'm{:03}'", i);
      CHECK(story.says(client, wait) == silence);
      (void)story.says(99, fmt::format("01 #4 'o{:03}' #0 01 #4 'm{:03}' #0", client, client));
    }
    for (int i = clients; i < 28; ++i) (void)story.says(99, fmt::format("01 #4 'm{:03}' #0", i));
    std::size_t answered = story.says(99, requests).size();
    CHECK(answered == 4);
    while (story.store.has_work()) {
      std::vector<StoreReply> replies;
      story.store.work(replies);
      CHECK(replies.size() <= 4);
      answered += replies.size();
    }
    CHECK(answered == clients);
  }
}

TEST_CASE("store: I4 a turn also follows when the last look has ended the last wait") {
  StoreStory story({.looks_max = 1});
  for (int round = 0; round < 3; ++round) {
    CHECK(!story.store.has_work());
    CHECK(story.says(1, fmt::format("06 #1 #1 '{}'", round)) == silence);
    CHECK(story.says(2, fmt::format("01 #1 '{}' #0", round)) == hears(1, "00"));
    CHECK(story.store.has_work());
    std::vector<StoreReply> replies;
    story.store.work(replies);
    CHECK(replies.empty());
  }
}

TEST_CASE("store: I4 a key that comes and goes before a wait's turn has come for it") {
  StoreStory story({.looks_max = 1});
  CHECK(story.says(1, "06 #2 #1 'k' #1 'z'") == silence);
  CHECK(story.says(2, "06 #1 #1 'k'") == silence);
  CHECK(story.says(9, "01 #1 'k' #1 'v' 08 #1 'k'") == hears(9, "#1"));
  std::vector<StoreReply> replies;
  while (story.store.has_work()) story.store.work(replies);
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].session == SessionId{2});
  CHECK(story.says(9, "01 #1 'z' #1 'v'") == hears(1, "00"));
}

TEST_CASE(
    "store: I4 who is woken and leaves, or asks anew, before its turn is not answered twice") {
  StoreStory story({.looks_max = 1});
  for (int client = 1; client <= 4; ++client) (void)story.says(client, "06 #1 #1 'k'");
  CHECK(story.says(9, "01 #1 'k' #1 'v'") == hears(1, "00"));
  story.leaves(2);
  CHECK(story.says(3, "06 #1 #1 'z'") == silence);
  std::vector<StoreReply> replies;
  while (story.store.has_work()) story.store.work(replies);
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].session == SessionId{4});
  CHECK(story.says(9, "01 #1 'z' #1 'v'") == hears(3, "00"));
}

TEST_CASE("store: I1 cancel is answered by one byte, and no answer to the wait follows") {
  StoreStory story;
  CHECK(story.says(1, "0c") == hears(1, "01"));  // nothing to cancel
  CHECK(story.says(1, "06 #1 #1 'k'") == silence);
  CHECK(story.says(1, "0c") == hears(1, "01"));
  CHECK(story.says(2, "01 #1 'k' #1 'v'") == silence);
  CHECK(story.says(1, "03 #1 'k'") == hears(1, "#1 'v'"));
}

TEST_CASE("store: a cancel that crosses the answer is answered too") {
  StoreStory story;
  (void)story.says(1, "06 #1 #1 'k'");
  CHECK(story.says(2, "01 #1 'k' #1 'v'") == hears(1, "00"));
  CHECK(story.says(1, "0c") == hears(1, "01"));
}

TEST_CASE("store: a second wait takes the place of the first") {
  StoreStory story;
  (void)story.says(1, "06 #1 #1 'a'");
  (void)story.says(1, "06 #1 #1 'b'");
  CHECK(story.says(2, "01 #1 'a' #1 'v'") == silence);
  CHECK(story.says(2, "01 #1 'b' #1 'v'") == hears(1, "00"));
}

TEST_CASE("store: I2 any request of a legacy client is the end of its wait") {
  StoreStory story;
  CHECK(story.says_legacy(1, "05 #1 #5 '/nope'") == silence);
  CHECK(story.says_legacy(1, "03 #2 '/n' #1") == hears(1, "#1"));
  CHECK(story.says(2, "01 #5 '/nope' #1 'v'") == silence);
  CHECK(story.says_legacy(1, "02 #5 '/nope'") == hears(1, "#1 'v'"));
}

TEST_CASE("store: a request of a newer client leaves its wait alone") {
  StoreStory story;
  (void)story.says(1, "06 #1 #1 'k'");
  CHECK(story.says(1, "0d 01 00 00 00") == hears(1, "01 00 00 00"));
  CHECK(story.says(2, "01 #1 'k' #1 'v'") == hears(1, "00"));
}

TEST_CASE("store: who has left is not answered") {
  StoreStory story;
  (void)story.says(1, "06 #1 #1 'k'");
  (void)story.says(2, "12 #1 'b' #3");
  (void)story.says_legacy(3, "07 #1 'k'");
  for (const int client : {1, 2, 3}) story.leaves(client);
  CHECK(story.says(4, "01 #1 'k' #1 'v'") == silence);
  CHECK(story.says(4, "12 #1 'b' #2") == hears(4, "00"));
}

TEST_CASE("store: a barrier opens for all with its last arrival") {
  StoreStory story;
  CHECK(story.says(1, "12 #1 'b' #3") == silence);
  CHECK(story.says(2, "12 #1 'b' #3") == silence);
  const ToClients all{{1, "00 "}, {2, "00 "}, {3, "00 "}};
  CHECK(story.says(3, "12 #1 'b' #3") == all);
  CHECK(story.says(3, "03 #1 'b'") == hears(3, "#1 '3'"));
  CHECK(story.says(1, "12 #1 'b' #3") == hears(1, "00"));  // it stays open
}

TEST_CASE("store: who gives up at a barrier has been counted") {
  StoreStory story;
  (void)story.says(1, "12 #1 'b' #2");
  CHECK(story.says(1, "0c") == hears(1, "01"));
  CHECK(story.says(2, "12 #1 'b' #2") == hears(2, "00"));
}

TEST_CASE("store: who comes to a barrier no longer waits, whatever is looked up in a turn") {
  for (const std::uint64_t looks_max : {std::uint64_t{1}, std::uint64_t{100}}) {
    StoreStory story({.looks_max = looks_max});
    CHECK(story.says(2, "06 #1 #1 'b'") == silence);
    CHECK(story.says(1, "06 #1 #1 'b'") == silence);
    CHECK(story.says(1, "12 #1 'b' #2") == hears(2, "00"));
    CHECK(story.says(3, "12 #1 'b' #2") == ToClients{{1, hex(wire("00"))}, {3, hex(wire("00"))}});
  }
}

TEST_CASE("store: a barrier whose key is no number closes the connection") {
  StoreStory story;
  (void)story.says(1, "01 #1 'b' #1 'x'");
  CHECK(story.says(1, "12 #1 'b' #2") == ToClients{{1, "closed"}});
}

TEST_CASE("store: one value in a queue wakes one client, the one that has waited longest") {
  StoreStory story;
  for (int client = 1; client <= 3; ++client) (void)story.says(client, "06 #1 #1 'q'");
  CHECK(story.says(4, "0e #1 'q' #1 'x'") == hears(1, "00"));
  CHECK(story.says(1, "0f #1 'q'") == hears(1, "#1 #1 'x'"));
  CHECK(story.says(4, "0e #1 'q' #1 'y'") == hears(2, "00"));
  CHECK(story.says(2, "0f #1 'q'") == hears(2, "#1 #1 'y'"));
  story.leaves(3);
  CHECK(story.says(4, "0e #1 'q' #1 'z'") == silence);
  CHECK(story.says(5, "06 #1 #1 'q'") == hears(5, "00"));
}

TEST_CASE("store: a value in a queue wakes the next one, if the first waits on for another key") {
  StoreStory story;
  CHECK(story.says(1, "06 #2 #1 'q' #1 'x'") == silence);
  CHECK(story.says(2, "06 #2 #1 'q' #1 'y'") == silence);
  CHECK(story.says(3, "06 #1 #1 'q'") == silence);
  CHECK(story.says(4, "06 #1 #1 'q'") == silence);
  CHECK(story.says(9, "0e #1 'q' #1 'v'") == hears(3, "00"));
  CHECK(story.says(9, "01 #1 'x' #1 'v'") == hears(1, "00"));
  CHECK(story.says(9, "0e #1 'q' #1 'w'") == hears(4, "00"));
  CHECK(story.says(9, "01 #1 'y' #1 'v'") == hears(2, "00"));
}

TEST_CASE("store: a queue and a value of one name are two things") {
  StoreStory story;
  (void)story.says(1, "01 #1 'k' #1 'v' 0e #1 'k' #1 'x'");
  CHECK(story.says(1, "03 #1 'k' 10 #1 'k'") == hears(1, "#1 'v' #1"));
  CHECK(story.says(1, "0f #1 'k' 03 #1 'k'") == hears(1, "#1 #1 'x' #1 'v'"));
}

TEST_CASE("store: a watch hears of creation, change and end, with the old value and the new") {
  StoreStory story;
  CHECK(story.says_legacy(9, "07 #2 '/w'") == hears(9, "03"));
  CHECK(story.says_legacy(1, "00 #2 '/w' #1 '1'") == hears(9, "01 #2 '/w' #0 #1 '1'"));
  CHECK(story.says_legacy(1, "00 #2 '/w' #1 '2'") == hears(9, "00 #2 '/w' #1 '1' #1 '2'"));
  CHECK(story.says_legacy(1, "03 #2 '/w' #3")[9] == hex(wire("00 #2 '/w' #1 '2' #1 '5'")));
  CHECK(story.says_legacy(1, "01 #2 '/w' #1 '5' #1 'x'")[9] ==
        hex(wire("00 #2 '/w' #1 '5' #1 'x'")));
  CHECK(story.says_legacy(1, "08 #2 '/w'")[9] == hex(wire("02 #2 '/w' #1 'x' #0")));
  CHECK(story.says_legacy(1, "00 #2 '/v' #1 '1'") == silence);
}

TEST_CASE("store: a watch said twice is one watch, and several keys may be watched") {
  StoreStory story;
  CHECK(story.says_legacy(9, "07 #1 'a' 07 #1 'a' 07 #1 'b'") == hears(9, "03 03 03"));
  CHECK(story.says_legacy(1, "00 #1 'a' #0") == hears(9, "01 #1 'a' #0 #0"));
  CHECK(story.says_legacy(1, "00 #1 'b' #0") == hears(9, "01 #1 'b' #0 #0"));
}

}  // namespace
}  // namespace ddprun
