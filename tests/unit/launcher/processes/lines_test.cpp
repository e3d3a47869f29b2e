#include "launcher/processes/lines.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

/// What the prefixer makes of `text` in pieces of `piece` bytes, its end included.
std::string prefixed(std::string_view text, std::size_t piece) {
  LinePrefixer lines("[0] ");
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    out += lines.feed(text.substr(at, piece));
  }
  return out + lines.finish();
}

std::string prefixed(std::string_view text) {
  return prefixed(text, text.size() + 1);
}

TEST_CASE("lines: a line ends where its first ending is, however far that is") {
  CHECK(line_end("") == std::string_view::npos);
  for (const std::size_t length : {0U, 1U, 254U, 255U, 256U, 257U, 511U, 512U, 70'000U}) {
    const std::string line(length, 'x');
    CHECK(line_end(line) == std::string_view::npos);
    for (const char* rest : {"\n", "\r", "\nx\r", "\rx\n", "\r\n"}) {
      CHECK(line_end(line + rest) == length);
      CHECK(line_end(line + rest + line) == length);
    }
  }
}

TEST_CASE("lines: each line gets the prefix and keeps its ending") {
  CHECK(prefixed("a\nb\n") == "[0] a\n[0] b\n");
  CHECK(prefixed("a\r\nb\r\n") == "[0] a\r\n[0] b\r\n");
  CHECK(prefixed("10%\r20%\rdone\n") == "[0] 10%\r[0] 20%\r[0] done\n");
  CHECK(prefixed("\n\n") == "[0] \n[0] \n");
}

TEST_CASE("lines: where beginnings are given only such lines get the prefix, however they come") {
  const std::string text = "srun: error\nplain\nsrun\n srun: x\nslurmstepd: y\nsrun: end";
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 100U}) {
    LinePrefixer lines("[n1] ", {"srun: ", "slurmstepd: "});
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += piece)
      out += lines.feed(text.substr(at, piece));
    out += lines.finish();
    CHECK(out == "[n1] srun: error\nplain\nsrun\n srun: x\n[n1] slurmstepd: y\n[n1] srun: end\n");
  }
}

TEST_CASE("lines: a line that never ended is ended") {
  CHECK(prefixed("a\nb") == "[0] a\n[0] b\n");
  CHECK(prefixed("").empty());
  LinePrefixer lines("> ");
  CHECK(lines.feed("half").empty());
  CHECK(lines.feed(" a line\nand").size() == sizeof "> half a line\n" - 1);
  CHECK(lines.finish() == "> and\n");
  CHECK(lines.finish().empty());
}

TEST_CASE("lines: the pieces that the bytes come in change nothing") {
  const std::string text =
      "one\ntwo\r\nthree\r\rfour\r\n\r\n\n  \r\nfive\r  \r6%\r\r\n  \r \nseven";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    CAPTURE(piece);
    const bool same = prefixed(text, piece) == prefixed(text);
    CHECK(same);
  }
}

TEST_CASE("lines: what is begun of a line can be seen before its end") {
  LinePrefixer lines("> ");
  CHECK(lines.begun().empty());
  CHECK(lines.feed("done\nname? ") == "> done\n");
  CHECK(lines.begun() == "> name? ");
  CHECK(lines.feed("x\n") == "> name? x\n");
  CHECK(lines.begun().empty());
  CHECK(lines.feed("  \r").empty());
  CHECK(lines.begun().empty());
  CHECK(lines.feed(std::string(10'000, 'x')) == "\r");
  CHECK(lines.begun() == "> " + std::string(4'096, 'x'));
}

TEST_CASE("lines: blanks before a return make room, and the last state of a bar is ended") {
  CHECK(prefixed("\r 5%\r 6%") == "\r[0]  5%\r[0]  6%\n");
  CHECK(prefixed("5%\r6%\r") == "[0] 5%\r[0] 6%\r\n");
  CHECK(prefixed("5%\r    \r") == "[0] 5%\r\r");
  CHECK(prefixed("5%\r    \rdone\n") == "[0] 5%\r\r[0] done\n");
  CHECK(prefixed("5%\r    \n") == "[0] 5%\r[0]     \n");
  CHECK(prefixed("  \r\n") == "[0]   \r\n");
}

TEST_CASE("lines: a line of any length is shown, in pieces of the limit") {
  const std::string whole(line_bytes_max, 'x');
  CHECK(prefixed(whole + "\n") == "[0] " + whole + "\n");
  CHECK(prefixed(whole + "yz\nnext\n") == "[0] " + whole + "\n[0] yz\n[0] next\n");
  CHECK(prefixed(whole + whole + "y\n") == "[0] " + whole + "\n[0] " + whole + "\n[0] y\n");
  for (const std::size_t piece : {1'000U, 65'535U, 65'536U, 65'537U}) {
    CHECK(prefixed(whole + whole + "y\n", piece) == prefixed(whole + whole + "y\n"));
  }
}

TEST_CASE("lines: bytes that are no text pass through") {
  const std::string bytes("\0\xff\x1b[31m\n", 8);
  CHECK(prefixed(bytes) == "[0] " + bytes);
}

std::deque<std::string> tail_of(std::string_view text, std::size_t piece) {
  Tail tail;
  for (std::size_t at = 0; at < text.size(); at += piece) tail.feed(text.substr(at, piece));
  return tail.lines();
}

TEST_CASE("tail: the last lines are kept, the one that never ended among them") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + "\n";
  for (const std::size_t piece : {1U, 7U, 10'000U}) {
    const auto lines = tail_of(text + "end", piece);
    REQUIRE(lines.size() == Tail::lines_max);
    CHECK(lines.front() == "61");
    CHECK(lines[38] == "99");
    CHECK(lines.back() == "end");
  }
  CHECK(tail_of(text, 1).front() == "60");
  CHECK(tail_of("", 1).empty());
}

TEST_CASE("tail: what was begun before more lines than are kept is forgotten") {
  std::string lines;
  for (std::size_t i = 0; i <= Tail::lines_max; ++i) lines += std::to_string(i) + "\n";
  for (const char* before : {"", "begun", "50%\r", "old\nbegun"}) {
    for (const char* after : {"", "end", "60%\r"}) {
      Tail tail;
      tail.feed(before);
      tail.feed(lines + after);
      CHECK(tail.lines() == tail_of(before + lines + after, 1));
    }
  }
}

TEST_CASE("tail: of a long line the beginning is kept") {
  const std::string line(Tail::bytes_max, 'x');
  for (const std::size_t piece : {1'000U, 16'384U, 100'000U}) {
    CHECK(tail_of(line + "dropped\nnext", piece) == std::deque<std::string>{line, "next"});
  }
}

TEST_CASE("tail: lines have no endings, whichever they had") {
  CHECK(tail_of("a\nb\r\nc", 1) == std::deque<std::string>{"a", "b", "c"});
}

TEST_CASE("tail: a progress bar leaves what it showed last") {
  const auto lines = tail_of("10%\r20%\r100%\nTraceback\n", 1);
  REQUIRE(lines.size() >= 2);
  CHECK(lines.back() == "Traceback");
  CHECK(lines[lines.size() - 2] == "100%");
}

}  // namespace
}  // namespace ddprun
