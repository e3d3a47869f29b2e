#include "rendezvous/store/store_texts.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

std::vector<std::string> all_of(const StoreTexts& texts) {
  return {texts.begin(), texts.end()};
}

TEST_CASE("store texts: each is what was appended to it, and empty ones count") {
  StoreTexts texts;
  CHECK(texts.empty());
  texts.push_back("");
  texts.push_back("a");
  texts.append("bc");
  texts.append("");
  texts.push_back("");
  CHECK(all_of(texts) == std::vector<std::string>{"", "abc", ""});
  CHECK(texts.size() == 3);
  CHECK(texts == StoreTexts{"", "abc", ""});
  CHECK(texts.memory() == 3 + 2 * sizeof(std::size_t));
}

TEST_CASE("store texts: lists with the same bytes differ in where these start") {
  const std::vector<StoreTexts> lists{{""}, {"", ""}, {"ab"}, {"a", "b"}, {"ab", ""}, {"", "ab"}};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (std::size_t j = 0; j < lists.size(); ++j) {
      const bool same_bytes = lists[i].all_bytes() == lists[j].all_bytes();
      const bool same_starts = lists[i].all_starts() == lists[j].all_starts();
      CHECK((lists[i] == lists[j]) == (i == j));
      CHECK((same_bytes && same_starts) == (i == j));
    }
  }
  CHECK_FALSE(StoreTexts{} == StoreTexts{""});
}

TEST_CASE("store texts: the only one is moved out, and of several each is copied") {
  StoreTexts only{std::string(100, 'x')};
  const char* bytes = only[0].data();
  const std::string taken = only.extract(0);
  CHECK(taken == std::string(100, 'x'));
  CHECK(taken.data() == bytes);
  StoreTexts several{"a", "b"};
  CHECK(several.extract(1) == "b");
  CHECK(several.extract(0) == "a");
}

TEST_CASE("store texts: one that was moved from is empty, and may be used again") {
  StoreTexts from{"a", "b", "c"};
  StoreTexts to = std::move(from);
  CHECK(to == StoreTexts{"a", "b", "c"});
  from = StoreTexts{"d"};  // NOLINT(bugprone-use-after-move): that is the question
  CHECK(from == StoreTexts{"d"});
  to = std::move(from);
  CHECK(to == StoreTexts{"d"});
}

}  // namespace
}  // namespace ddprun
