#include "launcher/text/terminal_manner.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

TEST_CASE("terminal manner: TERM says what a terminal can, and NO_COLOR what is wanted") {
  CHECK(terminal_manner({{"TERM", "xterm"}}).redraws);
  CHECK(terminal_manner({{"TERM", "xterm"}}).colours);
  CHECK_FALSE(terminal_manner({}).redraws);
  CHECK_FALSE(terminal_manner({}).colours);
  CHECK_FALSE(terminal_manner({{"TERM", "dumb"}}).redraws);
  CHECK_FALSE(terminal_manner({{"TERM", "dumb"}}).colours);
  CHECK(terminal_manner({{"TERM", "xterm"}, {"NO_COLOR", "1"}}).redraws);
  CHECK_FALSE(terminal_manner({{"TERM", "xterm"}, {"NO_COLOR", "1"}}).colours);
  CHECK(terminal_manner({{"TERM", "xterm"}, {"NO_COLOR", ""}}).colours);
}

TEST_CASE("terminal manner: neighbours have different colours") {
  CHECK(coloured("a", 0) == "\x1b[36ma\x1b[0m");
  for (int rank = 0; rank < 20; ++rank) {
    CHECK(coloured("a", rank) != coloured("a", rank + 1));
    CHECK(coloured("a", rank) == coloured("a", rank + 6));
  }
}

}  // namespace
}  // namespace ddprun
