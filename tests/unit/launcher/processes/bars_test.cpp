#include "launcher/processes/bars.hpp"

#include "launcher/processes/lines.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

/// What is shown of a text that comes at once, its end included.
std::string thinned(std::string_view text, std::size_t piece = 1'000'000) {
  BarThinner bars;
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    out += bars.feed(text.substr(at, piece), Instant{5});
  }
  return out + bars.finish();
}

TEST_CASE("bars: whole lines pass as they are") {
  for (const char* text : {"", "a\nb\n", "a\r\nb\r\n", "\n\n", "half"}) {
    CHECK(thinned(text) == text);
  }
  const std::string long_line(3 * line_bytes_max, 'x');
  CHECK(thinned(long_line + "\n", 1'000) == long_line + "\n");
}

TEST_CASE("bars: lines that come in parts pass as they are") {
  const std::string text = "one\ntwo\n\nthree\nend";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) CHECK(thinned(text, piece) == text);
  const std::string long_line(line_bytes_max + 1, 'x');
  const std::string longer = "a\n" + long_line + "\n" + long_line;
  for (const std::size_t piece : {1'000U, 65'536U, 70'000U, 200'000U}) {
    CHECK(thinned(longer, piece) == longer);
  }
}

TEST_CASE("bars: of the states of a bar the first and the last are shown") {
  CHECK(thinned("\r 0%\r 10%\r 20%\r100%\n") == " 0%\n100%\n");
  CHECK(thinned("\r 0%\r 10%\r 20%\r100%\r\n") == " 0%\n100%\r\n");
  CHECK(thinned("0%\r10%\r100%\r") == "0%\n100%\n");
  CHECK(thinned("0%\r10%\r100%") == "0%\n100%");
  CHECK(thinned("0%\r10%\r\ndone\n") == "0%\n10%\r\ndone\n");
  CHECK(thinned("0%\r10%\n\r50%\r\n") == "0%\n10%\n50%\r\n");
}

TEST_CASE("bars: what a line has written over is not shown, nor are blanks that make room") {
  CHECK(thinned("0%\r10%\r     \rsaved\n20%\r30%\r   \r") == "0%\nsaved\n30%\n");
}

TEST_CASE("bars: one state is shown in each pause") {
  BarThinner bars;
  CHECK(bars.feed("0%\r1%\r", Instant{0}) == "0%\n");
  CHECK(bars.feed("2%\r", Instant{BarThinner::pause.count - 1}).empty());
  CHECK(bars.feed("3%\r4%\r", Instant{BarThinner::pause.count}) == "2%\n");
  CHECK(bars.feed("5%\r", Instant{BarThinner::pause.count + 1}).empty());
  CHECK(bars.finish() == "5%\n");
  CHECK(bars.finish().empty());
}

TEST_CASE("bars: the pieces that the bytes come in change nothing") {
  const std::string text = "one\n 0%\r 10%\r 20%\r\n\r\ntwo\r\n30%\r  \rx\n\n40%\r50%\rend";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    CAPTURE(piece);
    CHECK(thinned(text, piece) == thinned(text));
  }
}

}  // namespace
}  // namespace ddprun
