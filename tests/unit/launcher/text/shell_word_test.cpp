#include "launcher/text/shell_word.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

TEST_CASE("shell word: what sh would read as something else stands in quotes") {
  CHECK(shell_word("./train") == "./train");
  CHECK(shell_word("--rate=1") == "--rate=1");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("$HOME `x` \"y\" \\ !") == "'$HOME `x` \"y\" \\ !'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("a\nb") == "'a\nb'");
  CHECK(shell_word("~") == "'~'");
  CHECK(shell_word("*") == "'*'");
  CHECK(shell_word("\xc3\xa4") == "'\xc3\xa4'");
}

TEST_CASE("shell word: only some names can be assigned to") {
  for (const char* name : {"A", "_a", "A1"}) CHECK(is_shell_name(name));
  for (const char* name : {"", "1A", "A.B", "A-B", "BASH_FUNC_x%%"})
    CHECK_FALSE(is_shell_name(name));
  for (const char* name : {"UID", "PPID", "BASHOPTS", "RANDOM", "_"})
    CHECK_FALSE(is_shell_name(name));
}

}  // namespace
}  // namespace ddprun
