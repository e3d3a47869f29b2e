#include "launcher/devices/core_set.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

TEST_CASE("core set: a list as Linux writes it is read and written") {
  CHECK(parse_cores("0-3,8\n") == CoreSet{0, 1, 2, 3, 8});
  CHECK(parse_cores("5") == CoreSet{5});
  CHECK(parse_cores("") == CoreSet{});
  CHECK(text_of_cores({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
  CHECK(text_of_cores({7}) == "7");
  CHECK(text_of_cores({}).empty());
}

TEST_CASE("core set: what is no list of cores is none") {
  for (const char* text : {"a", "3-", "-3", "3-1", "1,,2", "1,", ",", "1 2", "0-65536", "1-2-3"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_cores(text).has_value());
  }
}

TEST_CASE("core set: an intersection has what is in both") {
  CHECK(intersection({0, 1, 2}, {1, 2, 3}) == CoreSet{1, 2});
  CHECK(intersection({0}, {}).empty());
}

}  // namespace
}  // namespace ddprun
