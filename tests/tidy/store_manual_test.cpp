// The examples of ddprun-store(7) are what the store answers.
#include "rendezvous/store/key_value.hpp"
#include "rendezvous/store/store_codec.hpp"
#include "tests/tidy/manual.hpp"
#include "tests/tidy/source.hpp"
#include "tests/unit/rendezvous/wire/wire.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ddprun;

std::string store_page() {
  std::ifstream file(DDPRUN_SOURCE_DIR "/man/ddprun-store.7");
  return {std::istreambuf_iterator<char>(file), {}};
}

struct StoreExample {
  std::string request;
  std::string answer;
};

/// Its lines `.Dl REQUEST answer: ANSWER`, in which \(aq stands for a quote.
std::vector<StoreExample> examples_in(const std::string& title) {
  constexpr std::string_view mark = ".Dl ";
  constexpr std::string_view between = " answer: ";
  constexpr std::string_view quote = "\\(aq";
  std::vector<StoreExample> examples;
  const std::string text = tidy::section(store_page(), title);
  for (const std::string_view each : tidy::lines_of(text)) {
    std::string line(each);
    if (!line.starts_with(mark)) continue;
    for (std::size_t at = line.find(quote); at != std::string::npos; at = line.find(quote)) {
      line.replace(at, quote.size(), "'");
    }
    const std::size_t end = line.find(between);
    examples.push_back({line.substr(mark.size(), end - mark.size()),
                        end == std::string::npos ? "" : line.substr(end + between.size())});
  }
  return examples;
}

/// As one connection to an empty store, after `opening`.
void play(const std::string& title, std::size_t count, const std::string& opening = "") {
  const auto examples = examples_in(title);
  CHECK_MESSAGE(examples.size() == count, title);
  StoreDecoder decoder;
  StoreBudget memory(1 << 20);
  KeyValue store(memory);
  std::vector<StoreRequest> requests;
  REQUIRE(decoder.feed(wire(opening), requests).has_value());
  for (const StoreExample& example : examples) {
    CAPTURE(example.request);
    requests.clear();
    REQUIRE(decoder.feed(wire(example.request), requests).has_value());
    std::vector<StoreReply> replies;
    for (const StoreRequest& request : requests) {
      REQUIRE(store.on_request({1}, decoder.dialect(), request, replies).has_value());
    }
    std::string answer;
    for (const StoreReply& reply : replies) answer += reply.bytes.text();
    CHECK(hex(answer) == hex(wire(example.answer)));
  }
}

}  // namespace

TEST_CASE("store manual: the store answers each example of ddprun-store(7) as the page says") {
  const std::string greeting = "00 ce f7 85 3c";
  play("The requests", 23, greeting);
  play("Giving up a wait", 2, greeting);
  play("What a client sends first", 2);
  play("A client of PyTorch 2.0", 5);
  play("A client of PyTorch 2.1", 6);
  play("Watching a key", 1);
}

TEST_CASE("store manual: the page lists every request, by the name that it has in statistics") {
  std::vector<std::string> listed;
  const std::string text = tidy::section(store_page(), "The three dialects");
  for (const std::string_view line : tidy::lines_of(text)) {
    const std::size_t end = line.find(" Ta ");
    if (!line.starts_with(".It ") || end == std::string::npos) continue;
    listed.emplace_back(line.substr(4, end - 4));
  }
  REQUIRE(listed.size() == store_operation_names.size() + 1);  // the first is the table's head
  for (const std::string_view name : store_operation_names) {
    CHECK_MESSAGE(std::count(listed.begin(), listed.end(), name) == 1, name);
  }
}
