#include "rendezvous/message_codec.hpp"

#include "tests/unit/wire.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

const Incarnation somebody{0x0123456789abcdef, 7};
const WorkerFailure failure{"n1", Rank{3}, LocalRank{1}, 4242, {WorkerEnd::Kind::killed, 9}};
const Offer offer{NodeId{2}, "n2", "10.0.0.2", 29'400, 4, "no descriptors"};

std::vector<ToCoordinator> messages_up() {
  return {
      Hello{somebody, "n1", NodeId{5}, 2, 4, Millis{1'500}, 77},
      Hello{somebody, "", std::nullopt},
      Heartbeat{12, 3},
      Numbered<News>{1, Join{offer, GenerationNumber{6}}},
      Numbered<News>{2, WorkerFailed{GenerationNumber{7}, failure}},
      Numbered<News>{3, WorkerSucceeded{GenerationNumber{7}, Rank{3}}},
      Numbered<News>{1'000'000'000'000, StopRequested{15}},
  };
}

const Part part{GenerationNumber{7}, 1, 3, Rank{4}, 4, 10, "10.0.0.1", 29'401, 6, "n3 was lost"};

std::vector<ToAgent> messages_down() {
  return {
      Ack{77, 12, 3, Millis{2'500}},
      Forgotten{somebody},
      Refused{"its place is taken", Millis{700}},
      Refused{"", {}},
      Numbered<Instruction>{1, StartGeneration{NodeId{2}, part}},
      Numbered<Instruction>{2, StopGeneration{NodeId{2}, GenerationNumber{7}, 15, Millis{1'000}}},
      Numbered<Instruction>{3, FinishJob{NodeId{2}, {0, "all 8 workers succeeded", {}}}},
      Numbered<Instruction>{4, FinishJob{NodeId{2}, {137, "rank 3 was killed", failure}}},
  };
}

std::string error_of(const auto& result) {
  return result ? "" : result.error().message();
}

std::string refusal(const std::string& why) {
  return "message refused: " + why + "; the connection is closed";
}

/// Calls `visit(bytes)` for the bytes of every message with its own decoder.
void for_each_message(const auto& visit) {
  for (const ToCoordinator& each : messages_up()) visit(encode(each), decode_to_coordinator);
  for (const ToAgent& each : messages_down()) visit(encode(each), decode_to_agent);
}

TEST_CASE("message codec: every message is read as it was written") {
  for (const ToCoordinator& each : messages_up()) {
    const auto read = decode_to_coordinator(encode(each));
    CHECK(error_of(read) == "");
    if (read) CHECK(*read == each);
  }
  for (const ToAgent& each : messages_down()) {
    const auto read = decode_to_agent(encode(each));
    CHECK(error_of(read) == "");
    if (read) CHECK(*read == each);
  }
}

TEST_CASE("message codec: the bytes are those of the manual") {
  CHECK(hex(encode(ToCoordinator{Hello{{0x0102, 3}, "n1", NodeId{5}, 2, 4, Millis{258}, 9}})) ==
        hex(wire("01 02 01 00 00 00 00 00 00 03 00 00 00 02 00 00 00 'n1' 01 05 00 00 00 "
                 "02 00 00 00 04 00 00 00 #258 #9")));
  CHECK(hex(encode(ToCoordinator{Heartbeat{12, 3}})) == hex(wire("02 #12 #3")));
  CHECK(hex(encode(ToCoordinator{Numbered<News>{2, StopRequested{15}}})) ==
        hex(wire("03 #2 14 0f 00 00 00")));
  CHECK(hex(encode(ToAgent{Ack{7, 12, 3, Millis{258}}})) == hex(wire("81 #7 #12 #3 #258")));
  const Instruction stop = StopGeneration{NodeId{2}, GenerationNumber{7}, 15, Millis{1}};
  CHECK(hex(encode(ToAgent{Numbered<Instruction>{4, stop}})) ==
        hex(wire("83 #4 92 02 00 00 00 #7 0f 00 00 00 #1")));
}

TEST_CASE("message codec: a message that ends too early is refused, wherever it ends") {
  for_each_message([](const std::string& bytes, auto decode) {
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const auto read = decode(std::string_view(bytes).substr(0, length));
      CHECK(error_of(read) == refusal("it ends too early"));
    }
  });
}

TEST_CASE("message codec: whatever follows the end of a message is refused") {
  for_each_message([](const std::string& bytes, auto decode) {
    CHECK(error_of(decode(bytes + '\0')) == refusal("1 bytes follow its end"));
    CHECK(error_of(decode(bytes + bytes)) ==
          refusal(std::to_string(bytes.size()) + " bytes follow its end"));
  });
}

TEST_CASE("message codec: a changed byte makes another message or none") {
  for_each_message([](const std::string& bytes, auto decode) {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (int change = 1; change < 256; ++change) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ change);
        const auto read = decode(changed);
        if (read) {
          if (encode(*read) != changed) FAIL("read differently than written: " << hex(changed));
        } else if (!read.error().message().starts_with("message refused: ")) {
          FAIL("no reason: " << hex(changed));
        }
      }
    }
  });
}

TEST_CASE("message codec: random bytes are refused or are a message's own") {
  std::mt19937_64 random(20'260'802);
  int messages = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 4 == 0 ? random() : random() % 3);
    const auto up = decode_to_coordinator(bytes);
    const auto down = decode_to_agent(bytes);
    if (up && encode(*up) != bytes) FAIL(hex(bytes));
    if (down && encode(*down) != bytes) FAIL(hex(bytes));
    messages += up || down ? 1 : 0;
  }
  CHECK(messages > 10);  // else the bytes are too wild
}

TEST_CASE("message codec: kinds of the other direction, and unknown ones, are refused") {
  for (const ToCoordinator& each : messages_up())
    CHECK_FALSE(decode_to_agent(encode(each)).has_value());
  for (const ToAgent& each : messages_down())
    CHECK_FALSE(decode_to_coordinator(encode(each)).has_value());
  CHECK(error_of(decode_to_agent(wire("00"))) == refusal("there is no kind 0x00 here"));
  CHECK(error_of(decode_to_agent(wire("83 #1 14 0f 00 00 00"))) ==
        refusal("there is no kind 0x14 here"));
  CHECK(error_of(decode_to_coordinator(wire("03 #1 11"))) == refusal("it ends too early"));
}

TEST_CASE("message codec: strings may reach their limits and not exceed them") {
  const auto hello = [](const std::string& length, std::size_t bytes) {
    return wire("01 #1 01 00 00 00 " + length) + std::string(bytes, 'h') + std::string(25, '\0');
  };
  CHECK(decode_to_coordinator(hello("ff 00 00 00", 255)).has_value());
  CHECK(error_of(decode_to_coordinator(hello("00 01 00 00", 256))) ==
        refusal("a string of 256 bytes, at most 255 are allowed"));
  CHECK(error_of(decode_to_coordinator(hello("ff ff ff ff", 0))) ==
        refusal("a string of 4294967295 bytes, at most 255 are allowed"));
  CHECK(error_of(decode_to_agent(wire("83 #1 93 00 00 00 00 00 00 00 00 01 00 01 00"))) ==
        refusal("a string of 65537 bytes, at most 65536 are allowed"));
}

TEST_CASE("message codec: a string beyond its limit is cut when it is written") {
  const std::string text(text_bytes_max + 5, 't');
  const auto read = decode_to_agent(
      encode(ToAgent{Numbered<Instruction>{1, FinishJob{NodeId{}, {1, text, {}}}}}));
  REQUIRE(error_of(read) == "");
  const auto& finish = std::get<FinishJob>(std::get<Numbered<Instruction>>(*read).message);
  CHECK(finish.outcome.text == text.substr(0, text_bytes_max));
}

TEST_CASE("message codec: numbers that nobody means are refused") {
  const auto refused = [](const auto& message) {
    const std::string bytes = encode(message);
    if constexpr (std::is_same_v<std::decay_t<decltype(message)>, ToAgent>) {
      return !decode_to_agent(bytes);
    } else {
      return !decode_to_coordinator(bytes);
    }
  };
  const auto news = [](News each) { return ToCoordinator{Numbered<News>{1, std::move(each)}}; };
  const auto failed = [&](auto change) {
    WorkerFailed each{GenerationNumber{1}, failure};
    change(each);
    return news(each);
  };
  CHECK(refused(ToCoordinator{Hello{somebody, "n1", NodeId{-1}}}));
  CHECK(refused(ToCoordinator{Heartbeat{-1, 0}}));
  CHECK(refused(ToCoordinator{Numbered<News>{0, StopRequested{15}}}));
  CHECK(refused(news(StopRequested{signal_max + 1})));
  CHECK(refused(news(StopRequested{-9})));
  CHECK(refused(news(WorkerSucceeded{GenerationNumber{-1}, Rank{0}})));
  CHECK(refused(news(WorkerSucceeded{GenerationNumber{1}, Rank{-1}})));
  CHECK(refused(news(Join{{NodeId{0}, "", "", 0, -1, ""}, GenerationNumber{}})));
  CHECK(refused(news(Join{{NodeId{0}, "", "", 0, node_workers_max + 1, ""}, GenerationNumber{}})));
  CHECK(refused(failed([](auto& each) { each.failure.end.kind = WorkerEnd::Kind{4}; })));
  CHECK(refused(failed([](auto& each) { each.failure.end.code = end_code_max + 1; })));
  CHECK(refused(failed([](auto& each) { each.failure.pid = -1; })));
  CHECK(refused(ToAgent{Ack{1, 1, 1, Millis{-1}}}));
  CHECK(refused(ToAgent{Ack{1, 1, 1, Millis{duration_ms_max + 1}}}));
  CHECK(refused(ToAgent{Numbered<Instruction>{1, FinishJob{NodeId{0}, {256, "", {}}}}}));
  CHECK_FALSE(refused(failed([](auto&) {})));
}

}  // namespace
}  // namespace ddprun
