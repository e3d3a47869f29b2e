// What may be sent to a terminal beside plain lines, as the environment says.
#pragma once

#include "launcher/text/environment.hpp"

#include <string>
#include <string_view>

namespace ddprun {

struct TerminalManner {
  bool redraws = false;  ///< A row can be erased and drawn again.
  bool colours = false;
};

/// As terminals do that TERM names: a "dumb" one redraws nothing. NO_COLOR with any value asks for
/// no colours (https://no-color.org).
[[nodiscard]] TerminalManner terminal_manner(const Environment& environment);

/// `text` in the colour of that rank: one of six, so that neighbours differ.
[[nodiscard]] std::string coloured(std::string_view text, int rank);

}  // namespace ddprun
