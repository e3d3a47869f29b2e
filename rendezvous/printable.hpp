// Text from outside, as it may be shown to people.
#pragma once

#include <algorithm>
#include <cstddef>
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

/// `text` with ? in place of each control character, in ASCII and in UTF-8 (C1); letters of all
/// languages stay. For the user's own words, such as paths.
[[nodiscard]] inline std::string without_controls(std::string_view text) {
  std::string shown(text);
  for (std::size_t at = 0; at < shown.size(); ++at) {
    const auto byte = static_cast<unsigned char>(shown[at]);
    const auto next = static_cast<unsigned char>(at + 1 < shown.size() ? shown[at + 1] : ' ');
    const bool is_c1 = byte == 0xc2 && next >= 0x80 && next <= 0x9f;
    if (is_c1) shown[at + 1] = '?';
    if (is_c1 || byte < ' ' || byte == 0x7f) shown[at] = '?';
  }
  return shown;
}

}  // namespace ddprun
