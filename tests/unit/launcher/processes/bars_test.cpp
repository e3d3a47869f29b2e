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
  CHECK(bars.feed("2%\r", Instant{BarThinner::usual_pause.count - 1}).empty());
  CHECK(bars.feed("3%\r4%\r", Instant{BarThinner::usual_pause.count}) == "2%\n");
  CHECK(bars.feed("5%\r", Instant{BarThinner::usual_pause.count + 1}).empty());
  CHECK(bars.finish() == "5%\n");
  CHECK(bars.finish().empty());
}

/// A stream of which the beginning has come, at 0.
struct Begun {
  BarThinner bars;
  std::string out;

  explicit Begun(std::string_view text) : out(bars.feed(text, Instant{0})) {}
};

TEST_CASE("bars: the newest state is shown in time, though nothing follows it") {
  constexpr Instant due{BarThinner::usual_pause.count};
  for (const char* text : {"\r 0%\r 10%\r 20%", " 0%\r 10%\r 20%\r", " 0%\r 10%\r 20%\r  "}) {
    CAPTURE(text);
    Begun hung(text);
    CHECK(hung.out == " 0%\n");
    CHECK(hung.bars.next_deadline() == due);
    CHECK(hung.bars.show(due) == " 20%\n");
    CHECK_FALSE(hung.bars.next_deadline());
    CHECK(hung.bars.show(due).empty());
  }
  Begun first("\r 0%");
  CHECK(first.bars.next_deadline() == due);
  CHECK(first.bars.show(due) == " 0%\n");
}

TEST_CASE("bars: where no state is held back there is no deadline") {
  for (const char* text :
       {"", "a\n", "half", "a\r\n", "\r", "\r  ", "0%\r10%\n", "0%\r10%\nhalf"}) {
    CAPTURE(text);
    CHECK_FALSE(Begun(text).bars.next_deadline());
  }
  Begun ended("0%\r10%");
  CHECK(ended.bars.next_deadline());
  CHECK(ended.bars.finish() == "10%");
  CHECK_FALSE(ended.bars.next_deadline());
  Begun line_ended("0%\r10%");
  CHECK(line_ended.bars.feed("\n", Instant{1}) == "10%\n");
  CHECK_FALSE(line_ended.bars.next_deadline());
}

TEST_CASE("bars: a state that was shown since nothing followed is not shown again") {
  constexpr Instant later{BarThinner::usual_pause.count};
  const auto rest_of = [&](std::string_view text, std::string_view rest) {
    Begun stream(text);
    (void)stream.bars.show(later);
    const std::string out(stream.bars.feed(rest, later));
    return out + stream.bars.finish();
  };
  for (const char* text : {"0%\r10%", "0%\r10%\r", "0%\r10%\r\r"}) {
    CAPTURE(text);
    CHECK(rest_of(text, "").empty());
    CHECK(rest_of(text, "\n").empty());
    CHECK(rest_of(text, "\ndone\n") == "done\n");
    CHECK(rest_of(text, "\r20%\n") == "20%\n");
    CHECK(rest_of(text, "\r20%\r30%\r") == "30%\n");
  }
  CHECK(rest_of("0%\r10", "%\n") == "10%\n");
}

TEST_CASE("bars: the deadline is that of the first state that is held back") {
  Begun stream("0%\r10%\r");
  (void)stream.bars.feed("20%\r30%\r", Instant{5'000});
  CHECK(stream.bars.next_deadline() == Instant{10'000});
  CHECK(stream.bars.feed("40%\r50%", Instant{10'000}) == "30%\n");
  CHECK(stream.bars.next_deadline() == Instant{20'000});
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
