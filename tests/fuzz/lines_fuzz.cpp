// A worker's output. Rules: prefixes, filters and bars make the same of it in whatever pieces it
// comes, and no line is kept that is longer than its bound.
#include "launcher/processes/bars.hpp"
#include "launcher/processes/line_filter.hpp"
#include "launcher/processes/lines.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/launcher_targets.hpp"
#include "tests/fuzz/target.hpp"

#include <string>
#include <string_view>

namespace ddprun::fuzz {
namespace {

/// What `make()` makes of the bytes in pieces is what it makes of them at once.
void check_pieces(std::string_view bytes, std::uint8_t pieces, auto make, const char* rule) {
  auto at_once = make();
  std::string expected(at_once.feed(bytes));
  expected += at_once.finish();
  auto bit_by_bit = make();
  std::string heard;
  in_pieces(bytes, pieces, [&](std::string_view piece) { heard += bit_by_bit.feed(piece); });
  heard += bit_by_bit.finish();
  require(heard == expected, rule);
}

/// Of one moment: time only decides how much of a bar is shown.
struct Bars {
  std::string_view feed(std::string_view bytes) { return thinner.feed(bytes, Instant{1}); }
  std::string finish() { return thinner.finish(); }
  BarThinner thinner;
};

}  // namespace

void fuzz_lines(std::string_view bytes) {
  Choices choices(bytes);
  const std::uint8_t pieces = choices.byte();
  const std::string_view output = choices.rest();
  check_pieces(
      output, pieces, [] { return LinePrefixer("[0] "); }, "prefixes");
  check_pieces(
      output,
      pieces,
      [] {
        return LinePrefixer("", {"srun: ", "s"});
      },
      "beginnings");
  check_pieces(
      output,
      pieces,
      [] {
        return LineFilter("> ", {"a", "error"});
      },
      "filters");
  check_pieces(
      output, pieces, [] { return Bars(); }, "bars");

  Tail at_once;
  at_once.feed(output);
  Tail bit_by_bit;
  in_pieces(output, pieces, [&](std::string_view piece) { bit_by_bit.feed(piece); });
  require(at_once.lines() == bit_by_bit.lines(), "the last lines");
  for (const std::string& line : at_once.lines()) {
    require(line.size() <= Tail::bytes_max, "a kept line is short");
  }
  require(at_once.lines().size() <= Tail::lines_max + 1, "few lines are kept");
}

}  // namespace ddprun::fuzz
