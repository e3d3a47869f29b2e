#include "launcher/text/terminal_manner.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace ddprun {

TerminalManner terminal_manner(const Environment& environment) {
  TerminalManner manner;
  const std::string kind = find_variable(environment, "TERM").value_or("");
  manner.redraws = !kind.empty() && kind != "dumb";
  manner.colours = manner.redraws && find_variable(environment, "NO_COLOR").value_or("").empty();
  return manner;
}

std::string coloured(std::string_view text, int rank) {
  constexpr std::array codes{36, 33, 32, 35, 34, 31};  // cyan, yellow, green, magenta, blue, red
  const int code = codes.at(static_cast<std::size_t>(rank) % codes.size());
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace ddprun
