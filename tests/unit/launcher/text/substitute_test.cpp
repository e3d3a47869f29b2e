#include "launcher/text/substitute.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

const std::map<std::string, std::string> some_values{
    {"HOME", "/home/me"}, {"EMPTY", ""}, {"M", "${HOME}"}};

std::string substituted(const std::string& text) {
  const auto all = substitute(text, some_values);
  REQUIRE_MESSAGE(all.has_value(), all.error().message());
  return all->text;
}

std::string refusal_of_form(const std::string& text) {
  const auto all = substitute(text, some_values);
  REQUIRE_FALSE(all.has_value());
  return all.error().message();
}

TEST_CASE("substitute: names are replaced wherever they stand") {
  CHECK(substituted("${HOME}") == "/home/me");
  CHECK(substituted("a${HOME}b${HOME}c") == "a/home/meb/home/mec");
  CHECK(substituted("[${EMPTY}]") == "[]");
  CHECK(substituted("") == "");
}

TEST_CASE("substitute: a default takes the place of what is missing or empty") {
  CHECK(substituted("${NONE:-x}") == "x");
  CHECK(substituted("${EMPTY:-x}") == "x");
  CHECK(substituted("${HOME:-x}") == "/home/me");
  CHECK(substituted("${NONE:-}") == "");
  CHECK(substituted("${NONE:-a:-b}") == "a:-b");
}

TEST_CASE("substitute: two dollars are one, and a lone one stays") {
  CHECK(substituted("$$") == "$");
  CHECK(substituted("$${HOME}") == "${HOME}");
  CHECK(substituted("$$$$") == "$$");
  CHECK(substituted("5$ $HOME $") == "5$ $HOME $");
}

TEST_CASE("substitute: a value is not looked into again") {
  CHECK(substituted("${M}") == "${HOME}");
}

TEST_CASE("substitute: what has no value is named, and a default that is not used lacks nothing") {
  CHECK(substitute("x${NONE}${OTHER}", some_values)->unset == "NONE");
  CHECK(substitute("${NONE:-${OTHER}}", some_values)->unset == "OTHER");
  CHECK(substitute("${HOME:-${OTHER}}", some_values)->unset.empty());
  CHECK(substitute("${HOME}", some_values)->unset.empty());
}

TEST_CASE("substitute: a default may hold variables with defaults, and braces in pairs") {
  CHECK(substituted("${NOPE:-${HOME}}") == "/home/me");
  CHECK(substituted("${NOPE:-${EMPTY:-${NONE:-z}}}/y") == "z/y");
  CHECK(substituted("${NOPE:-{\"a\": {}}}") == "{\"a\": {}}");
  CHECK(substituted("${NOPE:-$$5}") == "$5");
}

TEST_CASE("substitute: forms that are not supported are refused with those that are") {
  const std::string fix =
      "; write ${NAME} or ${NAME:-default}, and $${ for a dollar sign before a brace";
  CHECK(refusal_of_form("${HOME:?err}") == "'${HOME:?err}' is a form not supported here" + fix);
  for (const char* form : {"${HOME:+x}", "${HOME#x}", "${HOME-x}", "${HOME x}", "${HOME:}"}) {
    CHECK(refusal_of_form(form) ==
          "'" + std::string(form) + "' is a form not supported here" + fix);
  }
  for (const char* form : {"${}", "${:-x}", "${1}", "${${HOME}}", "${ HOME}"}) {
    CHECK(refusal_of_form(form) == "'" + std::string(form) + "' names no variable" + fix);
  }
  CHECK(refusal_of_form("x${HOME") == "'${HOME' has no closing brace" + fix);
  CHECK(refusal_of_form("${NONE:-${HOME}") == "'${NONE:-${HOME}' has no closing brace" + fix);
  CHECK(refusal_of_form("${HOME:-${X:?y}}") == "'${X:?y}' is a form not supported here" + fix);
  CHECK(refusal_of_form("${" + std::string(100, 'a')) ==
        "'${" + std::string(38, 'a') + "...' has no closing brace" + fix);
}

TEST_CASE("substitute: defaults nest up to a bound") {
  const auto nested = [](int depth) {
    std::string text = "x";
    for (int i = 0; i < depth; ++i) text = "${N:-" + text + "}";
    return text;
  };
  CHECK(substituted(nested(substitution_depth_max)) == "x");
  CHECK(refusal_of_form(nested(substitution_depth_max + 1)).find("nested deeper than 16") !=
        std::string::npos);
}

TEST_CASE("substitute: macros stay for the worker, whatever variables of their names hold") {
  const std::map<std::string, std::string> own{{"rank", "7"}, {"hostname", "n0"}, {"A", "x"}};
  CHECK(substitute("${A}/${rank}-${local_rank}", own, worker_macros)->text ==
        "x/${rank}-${local_rank}");
  CHECK(substitute("${B:-${hostname}}", own, worker_macros)->text == "${hostname}");
  CHECK(substitute("${rank}", own)->text == "7");
  CHECK(substitute("${rank:-0}", own, worker_macros).error().message() ==
        "'${rank:-0}' has a default, but each worker has its own rank; write ${rank}");
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
