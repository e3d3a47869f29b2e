#include "launcher/options/read_setting.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

Setting setting(const std::string& value) {
  return {value, "DDPRUN_X"};
}

TEST_CASE("settings: a count within its limits is taken, another one named with its place") {
  CHECK(read_count("x", setting("0"), "number", 0, 5).value() == 0);
  CHECK(read_count("x", setting("5"), "number", 0, 5).value() == 5);
  CHECK(read_count("x", setting("6"), "number of things", 0, 5).error().message() ==
        "--x: '6' from DDPRUN_X is no number of things; write 0 to 5");
  for (const char* text : {"", "-1", "1.5", "one", "99999999999999999999"}) {
    CHECK_FALSE(read_count("x", setting(text), "number", 0, 5).has_value());
  }
}

TEST_CASE("settings: times and flags are read, or refused with what to write") {
  CHECK(read_duration("x", setting("1.5s")).value() == Millis{1'500});
  CHECK(read_duration("x", setting("soon")).error().message() ==
        "--x: 'soon' from DDPRUN_X is no time; write 250ms, 5s, 2m or 1h");
  CHECK(read_flag("x", setting("true")).value());
  CHECK_FALSE(read_flag("x", setting("false")).value());
  CHECK_FALSE(read_flag("x", setting("")).value());
  CHECK(read_flag("x", setting("yes")).error().message() ==
        "--x: 'yes' from DDPRUN_X is neither true nor false; write 1 or 0");
}

TEST_CASE("settings: networks are read, an address as a network of its own") {
  const auto networks = read_networks("x", setting("10.1.0.0/16,fd00::1")).value();
  CHECK(networks ==
        std::vector{*parse_ip_network("10.1.0.0/16"), *parse_ip_network("fd00::1/128")});
  for (const char* text : {"n1", ",10.0.0.1", "10.1.0.0/33"}) {
    CHECK_FALSE(read_networks("x", setting(text)).has_value());
  }
}

}  // namespace
}  // namespace ddprun
