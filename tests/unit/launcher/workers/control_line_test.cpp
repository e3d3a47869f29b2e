#include "launcher/workers/control_line.hpp"

#include "tests/unit/random.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace ddprun {
namespace {

using Controls = std::vector<ControlMessage>;
using EarNotes = std::vector<std::string>;

constexpr Instant second_zero{5'000};

/// Everything that a reader has heard.
struct Ear {
  ControlReader reader{Rank{3}};
  Controls messages;
  EarNotes notes;

  void take(const ControlReader::Heard& heard) {
    messages.insert(messages.end(), heard.messages.begin(), heard.messages.end());
    notes.insert(notes.end(), heard.notes.begin(), heard.notes.end());
  }
  void feed(std::string_view bytes, Instant now = second_zero) { take(reader.feed(now, bytes)); }
};

std::string ignored_note(const std::string& shown) {
  return "rank 3 sent \"" + shown +
         "\" over DDPRUN_CONTROL_FD, no line of version 1: such lines are ignored; see "
         "ddprun-protocol(7)";
}

const std::string flood_note =
    "rank 3 sends more than 1000 lines or 256 kB a second over DDPRUN_CONTROL_FD: it is closed; "
    "no line is needed after each step";

}  // namespace

TEST_CASE("control line: what a worker sends is read") {
  Ear ear;
  ear.feed("hello 1\nstep 12 31.85\nsaving 12\nsaved 12\nstep 0 7\nidle\n");
  CHECK(ear.messages == Controls{ControlHello{},
                                 StepsFinished{12, 31.85},
                                 SnapshotBegun{12},
                                 SnapshotSaved{12},
                                 StepsFinished{0, 7},
                                 WorkerIdle{}});
  CHECK(ear.notes.empty());
}

TEST_CASE("control line: a metric has any number") {
  const auto value_of = [](const std::string& text) {
    const auto message = parse_control_line("metric val/acc@1 " + text);
    REQUIRE(message);
    const auto* const metric = std::get_if<MetricTold>(&*message);
    REQUIRE(metric != nullptr);
    CHECK(metric->name == "val/acc@1");
    return metric->value;
  };
  CHECK(value_of("0.25") == 0.25);
  CHECK(value_of("-3e-07") == -3e-07);
  CHECK(value_of("inf") == std::numeric_limits<double>::infinity());
  CHECK(value_of("-inf") == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(value_of("nan")));
  CHECK(parse_control_line("metric " + std::string(40, 'x') + " 1"));
  CHECK_FALSE(parse_control_line("metric " + std::string(41, 'x') + " 1"));
}

TEST_CASE("control line: requests are one line each") {
  CHECK(control_line(SaveNow{}) == "save\n");
  CHECK(control_line(StopAfter{1'200}) == "stop 1200\n");
}

TEST_CASE("control line: nothing else is a line") {
  for (const char* line : {"",
                           "hello",
                           "hello 2",
                           "hello 1 ",
                           "Hello 1",
                           "step",
                           "step 5",
                           "step 5 ",
                           "step 5 -1",
                           "step 5 1e3",
                           "step 5 nan",
                           "step 5 .",
                           "step 5 1.2.3",
                           "step 5  1",
                           "step -5 1",
                           "step +5 1",
                           "step 99999999999999999999 1",
                           "step 5 111111111111111111111",
                           "step 5 1\r",
                           "metric",
                           "metric loss",
                           "metric loss ",
                           "metric  1",
                           "metric loss 1 2",
                           "metric loss +1",
                           "metric loss x",
                           "metric loss 1e999",
                           "metric lo\tss 1",
                           "metric lo\xffss 1",
                           "saving",
                           "saved x",
                           "saved 5 6",
                           "savedx 5",
                           "save"}) {
    CAPTURE(line);
    CHECK_FALSE(parse_control_line(line));
  }
}

TEST_CASE("control line: the first unknown line is told, shown safely and cut") {
  Ear ear;
  ear.feed("hello 1\n" + std::string("a\x1b[2J\0\xff", 7) + std::string(50, 'x') +
           "\nmore\nstep 1 2\n");
  CHECK(ear.notes == EarNotes{ignored_note("a?[2J??" + std::string(33, 'x') + "...")});
  CHECK(ear.messages == Controls{ControlHello{}, StepsFinished{1, 2}});
}

TEST_CASE("control line: before the hello of this version no line counts") {
  Ear ear;
  ear.feed("step 1 2\n");
  CHECK(ear.notes == EarNotes{ignored_note("step 1 2")});
  ear.feed("hello 2\nsaved 1\n");
  CHECK(ear.messages.empty());
  CHECK_FALSE(ear.reader.has_greeted());
  ear.feed("hello 1\nstep 3 4\n");
  CHECK(ear.messages == Controls{ControlHello{}, StepsFinished{3, 4}});
  CHECK(ear.reader.has_greeted());
}

TEST_CASE("control line: a line of 256 bytes is read, a longer one ignored up to its end") {
  Ear ear;
  ear.feed("hello 1\n");
  const std::string longest = "saved " + std::string(248, '0') + "7";
  REQUIRE(longest.size() + 1 == control_line_bytes_max);
  ear.feed(longest + "\n" + longest + "0\nsaved 8\n");
  CHECK(ear.messages == Controls{ControlHello{}, SnapshotSaved{7}, SnapshotSaved{8}});
  CHECK(ear.notes == EarNotes{ignored_note("saved " + std::string(34, '0') + "...")});
}

TEST_CASE("control line: the beginning of a line at the end is no line") {
  Ear ear;
  ear.feed("hello 1\nsaved 1");
  ear.take(ear.reader.finish());
  CHECK(ear.messages == Controls{ControlHello{}});
  CHECK(ear.notes == EarNotes{ignored_note("saved 1")});
}

TEST_CASE("control line: a thousand lines are read within a second, then nothing any more") {
  Ear ear;
  ear.feed("hello 1\n");
  for (int i = 0; i < 998; i += 2) ear.feed("step 1 2\nstep 1 2\n");
  CHECK_FALSE(ear.reader.has_given_up());
  ear.feed("saved 1\nsaved 2\nsaved 3\n");
  CHECK(ear.reader.has_given_up());
  CHECK(ear.messages.back() == ControlMessage(SnapshotSaved{2}));
  CHECK(ear.notes == EarNotes{flood_note});
  ear.feed("saved 4\n", second_zero + Millis{60'000});
  ear.take(ear.reader.finish());
  CHECK(ear.messages.back() == ControlMessage(SnapshotSaved{2}));
  CHECK(ear.notes.size() == 1);
}

TEST_CASE("control line: each second has a thousand lines") {
  Ear ear;
  ear.feed("hello 1\n");
  for (int second = 1; second <= 10; ++second) {
    for (int i = 0; i < 1'000; ++i) ear.feed("step 1 2\n", second_zero + Millis{second * 1'000});
  }
  CHECK_FALSE(ear.reader.has_given_up());
  CHECK(ear.messages.size() == 10'001);
}

TEST_CASE("control line: bytes without a line's end, and single bytes, are a flood as well") {
  Ear long_pieces;
  for (int i = 0; i < 4; ++i) long_pieces.feed(std::string(64'000, 'x'));
  CHECK_FALSE(long_pieces.reader.has_given_up());
  long_pieces.feed("x");
  CHECK(long_pieces.reader.has_given_up());
  CHECK(long_pieces.notes == EarNotes{flood_note});
  Ear small_pieces;
  for (int i = 0; i < 1'000; ++i) small_pieces.feed("x");
  CHECK_FALSE(small_pieces.reader.has_given_up());
  small_pieces.feed("x");
  CHECK(small_pieces.reader.has_given_up());
}

namespace {

std::string nearly_lines(Random& random) {
  constexpr std::array<std::string_view, 9> lines{"hello 1\n",
                                                  "step 12 3.5\n",
                                                  "saving 7\n",
                                                  "saved 7\n",
                                                  "hello 2\n",
                                                  "\n",
                                                  "x",
                                                  "stop 1\n",
                                                  " "};
  std::string bytes = below(random, 4) == 0 ? "" : "hello 1\n";
  for (std::size_t count = below(random, 20); count > 0; --count) {
    bytes += lines.at(below(random, lines.size()));
    if (below(random, 20) == 0) bytes += std::string(below(random, 400), 'y');
  }
  for (std::size_t faults = below(random, 3); faults > 0 && !bytes.empty(); --faults) {
    const std::size_t at = below(random, bytes.size());
    if (below(random, 2) == 0) bytes[at] = static_cast<char>(random());
    if (below(random, 4) == 0) bytes.erase(at, 1 + below(random, 9));
  }
  return bytes;
}

Ear heard_in_pieces(std::string_view bytes, Random& random, std::size_t piece_max) {
  Ear ear;
  std::int64_t ms = 0;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, 1 + below(random, piece_max));
    ear.feed(piece, second_zero + Millis{ms += 2});
    bytes.remove_prefix(piece.size());
  }
  ear.take(ear.reader.finish());
  return ear;
}

}  // namespace

TEST_CASE("control line: random bytes are read the same in any pieces") {
  Random random(20'261'126);
  std::size_t messages = 0;
  std::size_t notes = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string bytes = nearly_lines(random);
    const Ear at_once = heard_in_pieces(bytes, random, bytes.size() * 100 + 1);
    const Ear in_pieces = heard_in_pieces(bytes, random, 1 + below(random, 30));
    const bool same = at_once.messages == in_pieces.messages && at_once.notes == in_pieces.notes;
    if (!same || at_once.notes.size() > 1) FAIL("round " << round << ": " << bytes);
    messages += at_once.messages.size();
    notes += at_once.notes.size();
  }
  CHECK(messages > 50'000);  // else the bytes are too wild
  CHECK(notes > 5'000);
}

}  // namespace ddprun
