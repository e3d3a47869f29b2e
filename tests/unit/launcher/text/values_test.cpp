#include "launcher/text/values.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string_view>
#include <vector>

namespace ddprun {
namespace {

TEST_CASE("values: bounds are two counts, or one for both") {
  CHECK(parse_bounds("3")->low == 3);
  CHECK(parse_bounds("3")->high == 3);
  CHECK(parse_bounds("2:4")->low == 2);
  CHECK(parse_bounds("2:4")->high == 4);
  for (const char* const text : {"", ":", "2:", ":4", "2:4:6", "a:b", "2-4"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_bounds(text));
  }
}

TEST_CASE("values: a count is decimal digits and nothing else") {
  CHECK(parse_count("0") == 0);
  CHECK(parse_count("007") == 7);
  CHECK(parse_count("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  for (const char* text :
       {"", "-1", "-0", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "9223372036854775808", "one"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(parse_count(text));
  }
}

TEST_CASE("values: blanks around a text are taken away, and none within it") {
  CHECK(trimmed(" \ta b\t ") == "a b");
  CHECK(trimmed("a") == "a");
  CHECK(trimmed("").empty());
  CHECK(trimmed(" \t").empty());
  CHECK(trimmed("a\n") == "a\n");
  CHECK(trimmed("\r\n a\n", " \r\n") == "a");
}

TEST_CASE("values: the parts of a list are between commas, and none is behind the last") {
  using Parts = std::vector<std::string_view>;
  CHECK(parts_of("").empty());
  CHECK(parts_of("ab") == Parts{"ab"});
  CHECK(parts_of("a,b, c") == Parts{"a", "b", " c"});
  CHECK(parts_of("a,,b,") == Parts{"a", "", "b"});
  CHECK(parts_of(",a") == Parts{"", "a"});
}

TEST_CASE("values: a size has a unit of 1024, or is in bytes") {
  CHECK(parse_size("4096") == 4'096);
  CHECK(parse_size("1KiB") == 1'024);
  CHECK(parse_size("64MiB") == 64 << 20);
  CHECK(parse_size("1.5GiB") == std::int64_t{3} << 29);
  CHECK(parse_size("1TiB") == std::int64_t{1} << 40);
  CHECK(parse_size("1024TiB") == std::int64_t{1} << 50);
  for (const char* text : {"", "GiB", "-1", "1GB", "1 GiB", "1gib", "1025TiB", "nan", "1e9"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(parse_size(text));
  }
}

TEST_CASE("values: a duration has a unit, or is in seconds") {
  CHECK(parse_duration("250ms") == Millis{250});
  CHECK(parse_duration("5s") == Millis{5'000});
  CHECK(parse_duration("2m") == Millis{120'000});
  CHECK(parse_duration("1h") == Millis{3'600'000});
  CHECK(parse_duration("1.5s") == Millis{1'500});
  CHECK(parse_duration("30") == Millis{30'000});
  CHECK(parse_duration("0") == Millis{0});
  CHECK(parse_duration("0.25") == Millis{250});
}

TEST_CASE("values: a duration is neither negative nor longer than a year nor anything else") {
  CHECK(parse_duration("8784h") == Millis{8784LL * 3'600'000});
  for (const char* text : {"",      "s",
                           "ms",    "-1s",
                           "+1s",   "8784.1h",
                           "1e3",   "1e3s",
                           "inf",   "nan",
                           "nans",  "5 s",
                           " 5s",   "5S",
                           "1d",    "1h30m",
                           "5hm",   "5sms",
                           "0x10",  "soon",
                           "1..5s", "99999999999999999999999h"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("values: a set of ranks holds its numbers and both ends of its ranges") {
  const auto some = RankSet::parse("0,2-4,7");
  REQUIRE(some);
  for (int rank = 0; rank < 10; ++rank) {
    const bool named = rank == 0 || (rank >= 2 && rank <= 4) || rank == 7;
    CHECK(some->contains(Rank{rank}) == named);
  }
}

TEST_CASE("values: all ranks, and none") {
  for (const int rank : {0, 1, 1'000'000}) {
    CHECK(RankSet::parse("all")->contains(Rank{rank}));
    CHECK_FALSE(RankSet::parse("none")->contains(Rank{rank}));
  }
}

TEST_CASE("values: what is no set of ranks is refused") {
  for (const char* text :
       {"", ",", "0,", ",0", "1-", "-1", "3-2", "1-2-3", "all,1", "a", "0 1", "0;1"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(RankSet::parse(text));
  }
}

}  // namespace
}  // namespace ddprun
