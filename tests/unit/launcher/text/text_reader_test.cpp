#include "launcher/text/text_reader.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

bool is_letter_a(char c) {
  return c == 'a';
}

TEST_CASE("text reader: reads characters, runs of them and numbers from left to right") {
  const Setting text{"aab,0123", "here"};
  TextReader reader(text, "text", "write one");
  CHECK(reader.take_while(is_letter_a) == "aa");
  CHECK(reader.take_while(is_letter_a).empty());
  CHECK_FALSE(reader.consume('a'));
  CHECK(reader.next() == 'b');
  CHECK(reader.consume('b'));
  CHECK(reader.consume(','));
  CHECK(reader.at() == 4);
  CHECK(reader.take_number().value() == 123);
  CHECK(reader.is_at_end());
  CHECK(reader.next() == '\0');
  CHECK_FALSE(reader.consume('\0'));
}

TEST_CASE("text reader: a number has no sign, and what is refused is not read") {
  for (const char* number : {"", "-1", "+1", " 1", "x", "18446744073709551616"}) {
    CAPTURE(std::string(number));
    const Setting text{number, "here"};
    TextReader reader(text, "text", "write one");
    CHECK(reader.take_number().has_error());
    CHECK(reader.at() == 0);
  }
}

TEST_CASE("text reader: a refusal shows the text, where it comes from and which character") {
  const Setting text{"ab", "line 3"};
  TextReader reader(text, "list", "write c");
  CHECK(reader.refuse(1, "why", "fix").message() ==
        "'ab' from line 3 is no list: character 2: why; fix");
  CHECK(reader.unexpected("a number").message() ==
        "'ab' from line 3 is no list: character 1: 'a' stands where a number is needed; write c");
  (void)reader.take_while([](char) { return true; });
  CHECK(reader.unexpected("'c'").message() ==
        "'ab' from line 3 is no list: character 3: it ends where 'c' is needed; write c");
}

TEST_CASE("text reader: of a long text a refusal shows what is near the character") {
  const Setting text{std::string(100, 'a') + "!" + std::string(100, 'b'), "here"};
  const TextReader reader(text, "list", "");
  const auto shown = [&](std::size_t at) {
    const std::string message = reader.refuse(at, "why", "").message();
    return message.substr(1, message.find("' from") - 1);
  };
  const auto times = [](char c, std::size_t count) { return std::string(count, c); };
  CHECK(shown(100) == "..." + times('a', 40) + "!" + times('b', 39) + "...");
  CHECK(shown(0) == times('a', 80) + "...");
  CHECK(shown(201) == "..." + times('b', 80));
}

TEST_CASE("text reader: what a terminal might obey is not shown") {
  CHECK(printable("a\033[1m\n\x7f\xc3\xa4~") == "a?[1m????~");
}

}  // namespace
}  // namespace ddprun
