// Text from outside, as it may be shown to people.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace ddprun {

/// `text` with ? in place of each byte that is no printable ASCII character, so that it can neither
/// begin a line of its own nor command a terminal.
[[nodiscard]] inline std::string printable(std::string_view text) {
  std::string shown(text);
  std::ranges::replace_if(
      shown, [](unsigned char c) { return c < ' ' || c >= 0x7f; }, '?');
  return shown;
}

}  // namespace ddprun
