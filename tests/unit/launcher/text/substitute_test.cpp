#include "launcher/text/substitute.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

const std::map<std::string, std::string> values{
    {"HOME", "/home/me"}, {"EMPTY", ""}, {"M", "${HOME}"}};

TEST_CASE("substitute: names are replaced wherever they stand") {
  CHECK(*substitute("${HOME}", values) == "/home/me");
  CHECK(*substitute("a${HOME}b${HOME}c", values) == "a/home/meb/home/mec");
  CHECK(*substitute("[${EMPTY}]", values) == "[]");
  CHECK(*substitute("", values) == "");
}

TEST_CASE("substitute: a default takes the place of what is missing or empty") {
  CHECK(*substitute("${NONE:-x}", values) == "x");
  CHECK(*substitute("${EMPTY:-x}", values) == "x");
  CHECK(*substitute("${HOME:-x}", values) == "/home/me");
  CHECK(*substitute("${NONE:-}", values) == "");
  CHECK(*substitute("${NONE:-a:-b}", values) == "a:-b");
}

TEST_CASE("substitute: two dollars are one, and a lone one stays") {
  CHECK(*substitute("$$", values) == "$");
  CHECK(*substitute("$${HOME}", values) == "${HOME}");
  CHECK(*substitute("$$$$", values) == "$$");
  CHECK(*substitute("5$ $HOME $", values) == "5$ $HOME $");
}

TEST_CASE("substitute: a value is not looked into again") {
  CHECK(*substitute("${M}", values) == "${HOME}");
}

TEST_CASE("substitute: what has no value is an error that says so") {
  CHECK(substitute("x${NONE}", values).error().message() ==
        "variable NONE is not set; set it or write ${NONE:-default}");
  CHECK(substitute("x${HOME", values).error().message() ==
        "'${HOME' has no closing brace; write ${NAME}, or $$ for a dollar sign");
  CHECK_FALSE(substitute("${}", values).has_value());
}

TEST_CASE("macros: known ones are replaced, all others are the program's") {
  const std::map<std::string, std::string> macros{{"local_rank", "1"}, {"rank", "5"}};
  CHECK(expand_macros("${local_rank}/${rank}/${rank}", macros) == "1/5/5");
  CHECK(expand_macros("${HOME} $rank {rank} ${rank ${RANK} $${rank}", macros) ==
        "${HOME} $rank {rank} ${rank ${RANK} $5");
  CHECK(expand_macros("", macros).empty());
}

}  // namespace
}  // namespace ddprun
