// Streams that are nearly right, from a fixed seed: nothing breaks, and the pieces that the bytes
// come in change nothing.
#include "rendezvous/store/key_value.hpp"
#include "tests/unit/random.hpp"
#include "tests/unit/rendezvous/wire/wire.hpp"

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <random>
#include <utility>

namespace ddprun {
namespace {

constexpr StoreLimits narrow{
    .key_bytes_max = 12, .value_bytes_max = 20, .keys_per_request_max = 4, .request_bytes_max = 60};
constexpr KeyValueLimits small{.keys_max = 6, .entry_bytes = 4};
constexpr std::size_t small_budget = 1'200;

std::string text(Random& random) {
  constexpr std::array<std::string_view, 8> texts{
      "", "a", "b", "/q", "12", "-3", "kkkkkkkkkkkk", "?"};
  return counted(texts.at(below(random, texts.size())));
}

std::string list(Random& random, int texts_each) {
  const std::size_t count = below(random, 5);
  std::string bytes = wire("#" + std::to_string(count));
  for (std::size_t i = 0; i < count; ++i) {
    for (int part = 0; part < texts_each; ++part) bytes += text(random);
  }
  return bytes;
}

/// A request by its validated code; legacy codes are lower by one up to 6.
std::string request(Random& random, bool legacy) {
  const std::size_t code = 1 + below(random, legacy ? 8 : 18);
  std::string bytes(1, static_cast<char>(legacy && code < 8 ? code - 1 : code));
  switch (code) {
    case 1:
    case 9:
    case 14:
      return bytes + text(random) + text(random);
    case 2:
      return bytes + text(random) + text(random) + text(random);
    case 3:
    case 8:
    case 15:
    case 16:
      return bytes + text(random);
    case 4:
    case 18:
      return bytes + text(random) + wire("#" + std::to_string(below(random, 4)));
    case 5:
    case 6:
    case 10:
      return bytes + list(random, 1);
    case 11:
      return bytes + list(random, 2);
    case 13:
      return bytes + wire("01 02 03 04");
    default:
      return bytes;
  }
}

std::string stream(Random& random) {
  const bool legacy = below(random, 2) == 0;
  std::string bytes = legacy ? "" : wire("00 ce f7 85 3c");
  const std::size_t count = below(random, 12);
  for (std::size_t i = 0; i < count; ++i) bytes += request(random, legacy);
  for (std::size_t faults = below(random, 3); faults > 0 && !bytes.empty(); --faults) {
    const std::size_t at = below(random, bytes.size());
    if (below(random, 2) == 0) bytes[at] = static_cast<char>(random());
    if (below(random, 4) == 0) bytes.insert(at, 1, static_cast<char>(random()));
    if (below(random, 4) == 0) bytes.erase(at, 1 + below(random, 9));
  }
  return bytes;
}

struct FuzzDecoded {
  std::vector<StoreRequest> requests;
  std::string error;
  StoreDialect dialect = StoreDialect::unknown;
  friend bool operator==(const FuzzDecoded&, const FuzzDecoded&) = default;
};

/// Feeds pieces of 1 to `piece_max` bytes, or everything at once without it.
FuzzDecoded decode(const std::string& bytes, Random& random, std::size_t piece_max) {
  StoreDecoder decoder(narrow);
  FuzzDecoded outcome;
  std::string_view left = bytes;
  while (!left.empty() && outcome.error.empty()) {
    const std::size_t wanted = piece_max == 0 ? left.size() : 1 + below(random, piece_max);
    const std::string_view piece = left.substr(0, wanted);
    left.remove_prefix(piece.size());
    const auto fed = decoder.feed(piece, outcome.requests);
    if (!fed) outcome.error = fed.error().message();
  }
  outcome.dialect = decoder.dialect();
  return outcome;
}

TEST_CASE("store codec: random streams are read the same in any pieces, or refused the same") {
  Random random(20'260'801);
  int refused = 0;
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string bytes = stream(random);
    const FuzzDecoded at_once = decode(bytes, random, 0);
    const FuzzDecoded in_bytes = decode(bytes, random, 1);
    const FuzzDecoded in_pieces = decode(bytes, random, 16);
    const bool same = at_once == in_bytes && at_once == in_pieces;
    if (!same) FAIL("round " << round << ": " << hex(bytes));
    refused += at_once.error.empty() ? 0 : 1;
    read += static_cast<int>(at_once.requests.size());
  }
  CHECK(refused > 1'000);  // else the streams are too tame
  CHECK(read > 20'000);
}

std::size_t held(const std::vector<StoreReply>& replies) {
  std::size_t bytes = 0;
  for (const StoreReply& reply : replies) bytes += reply.bytes.held();
  return bytes;
}

TEST_CASE("store: random requests of many sessions stay within the limits and their cost") {
  Random random(7);
  StoreBudget memory(small_budget);
  auto store = std::make_optional<KeyValue>(memory, small);
  int refused = 0;
  int answered = 0;
  for (int round = 0; round < 10'000; ++round) {
    const SessionId session{static_cast<std::int64_t>(below(random, 5))};
    const FuzzDecoded outcome = decode(stream(random), random, 0);
    bool is_closed = !outcome.error.empty();
    std::vector<StoreReply> replies;
    for (const StoreRequest& each : outcome.requests) {
      if (is_closed) break;
      const std::size_t taken_max = memory.used() + held(replies) + store->cost_of(each);
      is_closed = !store->on_request(session, outcome.dialect, each, replies);
      if (memory.used() + held(replies) > taken_max) FAIL("round " << round);
    }
    for (const StoreReply& reply : replies) {
      if (reply.session.value >= 5) FAIL("round " << round);
    }
    answered += static_cast<int>(replies.size());
    refused += is_closed ? 1 : 0;
    if (is_closed || below(random, 4) == 0) store->on_session_lost(session);
    if (store->key_count() > small.keys_max) FAIL("round " << round);
    if (memory.used() > memory.max()) FAIL("round " << round);
    if (below(random, 50) > 0) continue;
    store.reset();
    replies.clear();
    if (memory.used() != 0) FAIL("round " << round);
    store.emplace(memory, small);
  }
  CHECK(refused > 500);
  CHECK(answered > 5'000);
}

}  // namespace
}  // namespace ddprun
