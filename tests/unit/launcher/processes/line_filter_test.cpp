#include "launcher/processes/line_filter.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

TEST_CASE("line filter: whole lines with one of the texts are kept, with their prefix") {
  LineFilter filter("[0]:", {"apple", "orange"});
  CHECK(filter.feed("an apple\na pear\nora") == "[0]:an apple\n");
  CHECK(filter.feed("nges\r\nplums\r\n") == "[0]:oranges\r\n");
  CHECK(filter.feed("apples").empty());
  CHECK(filter.finish() == "[0]:apples\n");
  CHECK(filter.finish().empty());
}

TEST_CASE("line filter: as in torchrun, the prefix belongs to the line") {
  LineFilter filter("[default3]:", {"default3"});
  CHECK(filter.feed("x\n") == "[default3]:x\n");
}

TEST_CASE("line filter: a line that was written over counts, and one that is never ended") {
  LineFilter filter("", {"50%"});
  CHECK(filter.feed("10%\r50%\r90%\r") == "50%\r");
  CHECK(filter.feed("at 50%").empty());
  CHECK(filter.finish() == "at 50%\n");
}

TEST_CASE("line filter: a line is kept with its whole ending, in whatever pieces that comes") {
  const std::string text = "an apple\r\na pear\r\n\napple\r\n\n50%\rapple\r\r\napple\r";
  for (const char* prefix : {"", "> "}) {
    LineFilter at_once(prefix, {"apple"});
    std::string whole = at_once.feed(text);
    whole += at_once.finish();
    for (std::size_t piece = 1; piece < text.size(); ++piece) {
      LineFilter filter(prefix, {"apple"});
      std::string kept;
      for (std::size_t at = 0; at < text.size(); at += piece) {
        kept += filter.feed(std::string_view(text).substr(at, piece));
      }
      kept += filter.finish();
      CHECK(kept == whole);
    }
  }
  LineFilter filter("", {"apple"});
  CHECK(filter.feed("apple\r") == "apple\r");
  CHECK(filter.feed("\n") == "\n");
  CHECK(filter.feed("\n").empty());
}

TEST_CASE("line filter: without texts nothing is kept") {
  LineFilter filter("p", {});
  CHECK(filter.feed("a\nb\n").empty());
}

}  // namespace
}  // namespace ddprun
