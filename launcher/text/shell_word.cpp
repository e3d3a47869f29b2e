#include "launcher/text/shell_word.hpp"

#include <algorithm>
#include <array>

namespace ddprun {
namespace {

constexpr std::string_view decimal_digits = "0123456789";
constexpr std::string_view name_characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
constexpr std::string_view plain_punctuation = "-./,:+@%=";

/// bash(1), "Shell Variables": read-only, or with a value that an assignment does not change.
constexpr std::array bash_owns{
    "BASHOPTS",     "BASHPID",       "BASH_ARGC",    "BASH_ARGV",     "BASH_ARGV0",
    "BASH_COMMAND", "BASH_LINENO",   "BASH_SOURCE",  "BASH_SUBSHELL", "BASH_VERSINFO",
    "DIRSTACK",     "EPOCHREALTIME", "EPOCHSECONDS", "EUID",          "FUNCNAME",
    "GROUPS",       "HISTCMD",       "LINENO",       "PPID",          "RANDOM",
    "SECONDS",      "SHELLOPTS",     "SRANDOM",      "UID",           "_"};

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
  if (std::ranges::find(bash_owns, name) != bash_owns.end()) return false;
  return !name.empty() && decimal_digits.find(name.front()) == std::string_view::npos &&
         name.find_first_not_of(name_characters) == std::string_view::npos;
}

}  // namespace ddprun
