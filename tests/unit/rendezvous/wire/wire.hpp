// Bytes of the store protocol as people write them down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace ddprun {

/// "03 #5 'init/' #-2": pairs of hex digits, 'text', and numbers of 8 bytes, low byte first.
inline std::string wire(std::string_view notation) {
  std::string bytes;
  while (!notation.empty()) {
    const bool quoted = notation.front() == '\'';
    const std::size_t end = quoted ? notation.find('\'', 1) + 1 : notation.find(' ');
    const std::string word(notation.substr(0, end));
    notation.remove_prefix(word.size());
    if (quoted) {
      bytes += word.substr(1, word.size() - 2);
    } else if (word.starts_with('#')) {
      const auto number = static_cast<std::uint64_t>(std::strtoll(word.c_str() + 1, nullptr, 10));
      for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(number >> (8 * i) & 0xff));
    } else if (!word.empty()) {
      bytes.push_back(static_cast<char>(std::strtol(word.c_str(), nullptr, 16)));
    }
    notation.remove_prefix(notation.starts_with(' ') ? 1 : 0);
  }
  return bytes;
}

/// A length and the text itself.
inline std::string counted(std::string_view text) {
  return wire("#" + std::to_string(text.size())) + std::string(text);
}

/// Two digits a byte, for messages.
inline std::string hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {digits[byte >> 4], digits[byte & 15], ' '};
  }
  return text;
}

}  // namespace ddprun
