#include "launcher/text/shell_word.hpp"

#include <algorithm>

namespace ddprun {
namespace {

constexpr std::string_view decimal_digits = "0123456789";
constexpr std::string_view name_characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
constexpr std::string_view plain_punctuation = "-./,:+@%=";

}  // namespace

std::string shell_word(std::string_view text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) {
    return name_characters.find(c) != std::string_view::npos ||
           plain_punctuation.find(c) != std::string_view::npos;
  });
  if (is_plain && !text.empty()) return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

bool is_shell_name(std::string_view name) {
  return !name.empty() && decimal_digits.find(name.front()) == std::string_view::npos &&
         name.find_first_not_of(name_characters) == std::string_view::npos;
}

}  // namespace ddprun
