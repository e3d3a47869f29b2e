#include "rendezvous/store/store_codec.hpp"

#include "tests/unit/rendezvous/wire/wire.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <utility>

namespace ddprun {
namespace {

using Op = StoreOperation;
using Dialect = StoreDialect;

const std::string greeting = wire("00 ce f7 85 3c");

struct Decoded {
  std::vector<StoreRequest> requests;
  std::string error;  ///< Empty: none.
  Dialect dialect = Dialect::unknown;
  friend bool operator==(const Decoded&, const Decoded&) = default;
};

Decoded decode(std::string_view bytes, std::size_t piece, StoreLimits limits = {}) {
  StoreDecoder decoder(limits);
  Decoded decoded;
  for (std::size_t at = 0; at < bytes.size() && decoded.error.empty(); at += piece) {
    const auto fed = decoder.feed(bytes.substr(at, piece), decoded.requests);
    if (!fed) decoded.error = fed.error().message();
  }
  decoded.dialect = decoder.dialect();
  return decoded;
}

Decoded decode(std::string_view bytes, StoreLimits limits = {}) {
  return decode(bytes, bytes.size() + 1, limits);
}

struct Sample {
  const char* notation;  ///< Without the greeting.
  StoreRequest request;
};

// As captured from PyTorch 1.13.1.
std::vector<Sample> legacy_samples() {
  return {
      {"03 05 00 00 00 00 00 00 00 'init/' 01 00 00 00 00 00 00 00", {Op::add, {"init/"}, {}, 1}},
      {"00 #2 '/k' #2 'v1'", {Op::set, {"/k"}, {"v1"}}},
      {"05 #1 #2 '/k'", {Op::wait, {"/k"}, {}}},
      {"02 #2 '/k'", {Op::get, {"/k"}, {}}},
      {"03 #2 '/n' fe ff ff ff ff ff ff ff", {Op::add, {"/n"}, {}, -2}},
      {"01 #2 '/k' #2 'v1' #2 'v2'", {Op::compare_set, {"/k"}, {"v1", "v2"}}},
      {"04 #2 #2 '/k' #5 '/nope'", {Op::check, {"/k", "/nope"}, {}}},
      {"06", {Op::count_keys, {}, {}}},
      {"08 #2 '/k'", {Op::delete_key, {"/k"}, {}}},
      {"07 #2 '/w'", {Op::watch_key, {"/w"}, {}}},
  };
}

// As captured from PyTorch 2.6.0 and 2.14.1.
std::vector<Sample> validated_samples() {
  return {
      {"0d 98 62 00 00", {Op::ping, {}, {}, 0x6298}},
      {"04 #5 'init/' #1", {Op::add, {"init/"}, {}, 1}},
      {"01 #2 '/k' #2 'v1'", {Op::set, {"/k"}, {"v1"}}},
      {"06 #1 #2 '/k'", {Op::wait, {"/k"}, {}}},
      {"03 #2 '/k'", {Op::get, {"/k"}, {}}},
      {"02 #2 '/k' #2 'v1' #2 'v2'", {Op::compare_set, {"/k"}, {"v1", "v2"}}},
      {"05 #1 #2 '/k'", {Op::check, {"/k"}, {}}},
      {"07", {Op::count_keys, {}, {}}},
      {"08 #2 '/k'", {Op::delete_key, {"/k"}, {}}},
      {"0c", {Op::cancel_wait, {}, {}}},
      {"09 #2 '/k' #5 '+tail'", {Op::append, {"/k"}, {"+tail"}}},
      {"0b #2 #2 '/a' #1 '1' #2 '/b' #2 '22'", {Op::multi_set, {"/a", "/b"}, {"1", "22"}}},
      {"0a #3 #2 '/a' #2 '/b' #2 '/k'", {Op::multi_get, {"/a", "/b", "/k"}, {}}},
      {"11", {Op::list_keys, {}, {}}},
      {"12 #4 '/bar' #1", {Op::barrier, {"/bar"}, {}, 1}},
      {"0e #2 '/q' #2 'x1'", {Op::queue_push, {"/q"}, {"x1"}}},
      {"10 #2 '/q'", {Op::queue_length, {"/q"}, {}}},
      {"0f #2 '/q'", {Op::queue_pop, {"/q"}, {}}},
  };
}

// By the table of PyTorch 2.1: legacy codes up to 6, and its own from 7 on.
std::vector<Sample> samples_of_2_1() {
  return {
      {"09 #2 #2 '/a' #2 '/b'", {Op::multi_get, {"/a", "/b"}, {}}},
      {"03 #5 'init/' #1", {Op::add, {"init/"}, {}, 1}},
      {"00 #2 '/k' #2 'v1'", {Op::set, {"/k"}, {"v1"}}},
      {"05 #1 #2 '/k'", {Op::wait, {"/k"}, {}}},
      {"02 #2 '/k'", {Op::get, {"/k"}, {}}},
      {"01 #2 '/k' #2 'v1' #2 'v2'", {Op::compare_set, {"/k"}, {"v1", "v2"}}},
      {"04 #1 #2 '/k'", {Op::check, {"/k"}, {}}},
      {"06", {Op::count_keys, {}, {}}},
      {"07 #2 '/k'", {Op::delete_key, {"/k"}, {}}},
      {"08 #2 '/k' #5 '+tail'", {Op::append, {"/k"}, {"+tail"}}},
      {"0a #1 #2 '/a' #1 '1'", {Op::multi_set, {"/a"}, {"1"}}},
      {"0b", {Op::cancel_wait, {}, {}}},
  };
}

void each_is_read_as_written(const std::vector<Sample>& samples,
                             const std::string& opening,
                             Dialect dialect) {
  for (const Sample& sample : samples) {
    CAPTURE(std::string(sample.notation));
    const std::string bytes = opening + wire(sample.notation);
    const Decoded expected{{sample.request}, "", dialect};
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      CHECK(decode(bytes, piece) == expected);
    }
    const Decoded unfinished = decode(std::string_view(bytes).substr(0, bytes.size() - 1));
    CHECK(unfinished.requests.empty());
    CHECK(unfinished.error == "");
  }
}

TEST_CASE("store codec: what PyTorch 1.13 sends is read, in pieces of any size") {
  each_is_read_as_written(legacy_samples(), "", Dialect::legacy);
}

TEST_CASE("store codec: what PyTorch 2.2 and later send is read, in pieces of any size") {
  each_is_read_as_written(validated_samples(), greeting, Dialect::validated);
}

TEST_CASE("store codec: a whole connection is read the same whatever pieces it comes in") {
  for (const Dialect dialect : {Dialect::legacy, Dialect::validated}) {
    const bool legacy = dialect == Dialect::legacy;
    std::string bytes = legacy ? "" : greeting;
    Decoded expected{{}, "", dialect};
    for (const Sample& sample : legacy ? legacy_samples() : validated_samples()) {
      if (sample.request.operation == Op::watch_key) continue;  // a connection of its own
      bytes += wire(sample.notation);
      expected.requests.push_back(sample.request);
    }
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      CHECK(decode(bytes, piece) == expected);
    }
  }
}

TEST_CASE("store codec: empty keys, values and lists are whole") {
  CHECK(decode(wire("00 #0 #0")).requests == std::vector<StoreRequest>{{Op::set, {""}, {""}}});
  CHECK(decode(wire("05 #0")).requests == std::vector<StoreRequest>{{Op::wait, {}, {}}});
  CHECK(decode(greeting + wire("0b #0 07")).requests ==
        std::vector<StoreRequest>{{Op::multi_set, {}, {}}, {Op::count_keys, {}, {}}});
}

TEST_CASE("store codec: keys and values are bytes, zero among them") {
  const std::string bytes("\0\xff\n'", 4);
  const Decoded decoded = decode(wire("00") + counted(bytes) + counted(bytes));
  CHECK(decoded.requests == std::vector<StoreRequest>{{Op::set, {bytes}, {bytes}}});
}

TEST_CASE("store codec: a legacy set whose key length begins like the magic number is a set") {
  for (const std::size_t length : {0xceU, 0xf7ceU, 0x85f7ceU}) {
    const std::string key(length, 'k');
    const std::string bytes = wire("00") + counted(key) + counted("v");
    const Decoded expected{{{Op::set, {key}, {"v"}}}, "", Dialect::legacy};
    for (const std::size_t piece : {1U, 2U, 3U, 4U, 5U}) {
      CHECK(decode(bytes.substr(0, 5), piece).dialect == Dialect::legacy);
    }
    CHECK(decode(bytes, {.key_bytes_max = length}) == expected);
    CHECK(decode(bytes, 4'093, {.key_bytes_max = length}) == expected);
  }
}

TEST_CASE("store codec: the greeting alone makes the dialect, and is no request") {
  CHECK(decode(greeting, 1) == Decoded{{}, "", Dialect::validated});
  CHECK(decode(wire("00 ce f7 85")).dialect == Dialect::unknown);
}

TEST_CASE("store codec: a second greeting is refused") {
  const Decoded decoded = decode(greeting + wire("07") + greeting);
  CHECK(decoded.requests.size() == 1);
  CHECK(decoded.error ==
        "store request refused: there is no operation 0; the connection is closed");
}

TEST_CASE("store codec: whatever opens with another byte is no PyTorch client") {
  for (int byte = 12; byte < 256; ++byte) {
    const Decoded decoded =
        decode(std::string(1, static_cast<char>(byte)) + "ET / HTTP/1.0\r\n\r\n");
    CHECK(decoded.requests.empty());
    CHECK(decoded.error.find("is no PyTorch client") != std::string::npos);
  }
}

TEST_CASE("store codec: operations that no version has are refused by their number") {
  for (int byte = 12; byte < 256; ++byte) {
    const std::string code(1, static_cast<char>(byte));
    const std::string why = "store request refused: there is no operation " + std::to_string(byte) +
                            "; the connection is closed";
    CHECK(decode(wire("06") + code).error == why);
    CHECK(decode(wire("0b") + code).error == why);
    if (byte > 18) CHECK(decode(greeting + code).error == why);
  }
}

// Its clients begin with add, so that their own codes only show later: append 8 cannot be told from
// delete_key, but 9 to 11 exist nowhere else, and 7 is a legacy watch_key only on a connection that
// watches from its first byte on.
TEST_CASE("store codec: a connection is PyTorch 2.1's from the first code on that only 2.1 has") {
  for (const char* code : {"07 #1 'k'", "09 #0", "0a #0", "0b"}) {
    CAPTURE(std::string(code));
    const Decoded decoded = decode(wire(std::string("08 #1 'k' ") + code + " 08 #1 'k' #1 'v'"));
    CHECK(decoded.dialect == Dialect::torch_2_1);
    REQUIRE(decoded.requests.size() == 3);
    CHECK(decoded.requests.front() == StoreRequest{Op::delete_key, {"k"}, {}});
    CHECK(decoded.requests.back() == StoreRequest{Op::append, {"k"}, {"v"}});
  }
  for (const char* code : {"09 #0", "0a #0", "0b"}) {
    CHECK(decode(wire(code)).dialect == Dialect::torch_2_1);
  }
}

TEST_CASE("store codec: what PyTorch 2.1 sends is read, in pieces of any size") {
  std::string bytes;
  Decoded expected{{}, "", Dialect::torch_2_1};
  for (const Sample& sample : samples_of_2_1()) {
    bytes += wire(sample.notation);
    expected.requests.push_back(sample.request);
  }
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    CHECK(decode(bytes, piece) == expected);
  }
}

TEST_CASE("store codec: where 2.1 is assumed, every code without a greeting is its own") {
  for (const Sample& sample : samples_of_2_1()) {
    CAPTURE(std::string(sample.notation));
    StoreDecoder decoder;
    decoder.assume_2_1();
    std::vector<StoreRequest> requests;
    REQUIRE(decoder.feed(wire(sample.notation), requests).has_value());
    CHECK(requests == std::vector{sample.request});
    CHECK(decoder.dialect() == Dialect::torch_2_1);
  }
  StoreDecoder newer;
  newer.assume_2_1();
  std::vector<StoreRequest> requests;
  REQUIRE(newer.feed(greeting + wire("08 #1 'k'"), requests).has_value());
  CHECK(requests == std::vector{StoreRequest{Op::delete_key, {"k"}, {}}});
}

TEST_CASE("store codec: 2.1 may be assumed in the midst of a connection, from the next code on") {
  StoreDecoder decoder;
  std::vector<StoreRequest> requests;
  REQUIRE(decoder.feed(wire("08 #1 'k' 08"), requests).has_value());
  decoder.assume_2_1();
  REQUIRE(decoder.feed(wire("#1 'k' 08 #1 'k' #1 'v'"), requests).has_value());
  REQUIRE(requests.size() == 3);
  CHECK(requests[1] == StoreRequest{Op::delete_key, {"k"}, {}});
  CHECK(requests[2] == StoreRequest{Op::append, {"k"}, {"v"}});
}

TEST_CASE("store codec: a connection that begins with watch_key is none of PyTorch 2.1") {
  const std::string first = wire("07 #2 '/a'");
  CHECK(decode(first + wire("07 #2 '/b'")).requests.size() == 2);
  CHECK(decode(first + wire("09")).error ==
        "store request refused: there is no operation 9; the connection is closed");
  StoreDecoder decoder;
  std::vector<StoreRequest> requests;
  REQUIRE(decoder.feed(first, requests).has_value());
  decoder.assume_2_1();
  REQUIRE(decoder.feed(first, requests).has_value());
  CHECK(requests[1].operation == Op::watch_key);
}

TEST_CASE("store codec: requests before a mistake are handed over") {
  const Decoded decoded = decode(wire("06 06 ff"));
  CHECK(decoded.requests.size() == 2);
  CHECK_FALSE(decoded.error.empty());
}

TEST_CASE("store codec: each limit may be reached and not exceeded") {
  const StoreLimits limits{
      .key_bytes_max = 3, .value_bytes_max = 5, .keys_per_request_max = 2, .request_bytes_max = 9};
  struct Limit {
    std::string reached;
    std::string exceeded;
    std::string why;
  };
  const std::vector<Limit> all{
      {"02 #3 'kkk'", "02 #4", "a key of 4 bytes, at most 3 are allowed"},
      {"00 #1 'k' #5 'vvvvv'", "00 #1 'k' #6", "a value of 6 bytes, at most 5 are allowed"},
      {"05 #2 #1 'a' #1 'b'", "05 #3", "3 keys in one request, at most 2 are allowed"},
      {"01 #3 'kkk' #5 'vvvvv' #1 'v'",
       "01 #3 'kkk' #5 'vvvvv' #2",
       "a request of more than 9 bytes"},
  };
  for (const Limit& limit : all) {
    CAPTURE(limit.why);
    CHECK(decode(wire(limit.reached), limits).requests.size() == 1);
    CHECK(decode(wire(limit.exceeded), limits).error ==
          "store request refused: " + limit.why + "; the connection is closed");
    const std::string twice = wire(limit.reached) + wire(limit.reached);
    CHECK(decode(twice, 1, limits).requests.size() == 2);  // the limit is a request's
  }
}

TEST_CASE("store codec: a negative or absurd length is refused as soon as it is read") {
  for (const char* length : {"#-1", "00 00 00 00 00 00 00 80", "#9223372036854775807"}) {
    for (const char* before : {"02 ", "00 #1 'k' ", "05 ", "04 #1 "}) {
      CHECK_FALSE(decode(wire(std::string(before) + length)).error.empty());
    }
    CHECK_FALSE(decode(greeting + wire(std::string("0b ") + length)).error.empty());
  }
}

TEST_CASE("store codec: a length is not allocated before its bytes arrive") {
  constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
  const StoreLimits limits{.key_bytes_max = no_limit,
                           .value_bytes_max = no_limit,
                           .keys_per_request_max = no_limit,
                           .request_bytes_max = no_limit};
  for (const char* notation : {"02 00 00 00 00 00 00 00 80 'abc'",
                               "00 #1 'k' 00 00 00 00 00 00 00 80 'abc'",
                               "05 00 00 00 00 00 00 00 80 #1 'k'"}) {
    const Decoded decoded = decode(wire(notation), limits);
    CHECK(decoded.error == "");
    CHECK(decoded.requests.empty());
  }
}

TEST_CASE("store codec: replies are written low byte first") {
  std::string bytes;
  encode_byte(3, bytes);
  encode_u32(0x04030201, bytes);
  encode_i64(-2, bytes);
  encode_string("v2", bytes);
  CHECK(hex(bytes) == hex(wire("03 01 02 03 04 #-2 #2 'v2'")));
}

TEST_CASE("store codec: what a client asks first is a greeting and a ping") {
  StoreDecoder decoder;
  std::vector<StoreRequest> requests;
  REQUIRE(decoder.feed(encode_ping(258), requests).has_value());
  CHECK(decoder.dialect() == StoreDialect::validated);
  CHECK(requests == std::vector{StoreRequest{.operation = StoreOperation::ping, .number = 258}});
}

}  // namespace
}  // namespace ddprun
