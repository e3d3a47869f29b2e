#include "launcher/processes/bottom_line.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {
namespace {

constexpr std::string_view erase_row = "\r\x1b[K";
constexpr std::string_view plain_again = "\x1b[0m";
constexpr char escape = '\x1b';

/// Of a sequence "ESC [ ... letter" at the beginning of `text`, or 0.
std::size_t sequence_bytes(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;?", 2);
  return end == std::string_view::npos ? text.size() : end + 1;
}

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Of a bar that ends with "\r": what is to be seen.
std::string_view last_state(std::string_view bytes) {
  if (bytes.ends_with('\r')) bytes.remove_suffix(1);
  return bytes.substr(bytes.rfind('\r') + 1);  // 0 for npos
}

}  // namespace

std::string BottomLine::write(Owner owner, std::string bytes, int columns) {
  if (texts_.empty() && bytes.ends_with('\n')) return bytes;
  const std::string before = take(owner);
  const std::size_t whole = bytes.rfind('\n') + 1;  // 0 for npos
  keep(owner, last_state(std::string_view(bytes).substr(whole)));
  std::string out = erased();
  if (bytes.starts_with('\n')) out += before;  // it ends a bar where it stands
  out += std::string_view(bytes).substr(0, whole);
  return out += drawn(columns);
}

std::string BottomLine::set(Owner owner, std::string_view text, int columns) {
  take(owner);
  keep(owner, text);
  std::string out = erased();
  return out += drawn(columns);
}

/// Its text, which it has no longer.
std::string BottomLine::take(Owner owner) {
  const auto found = std::ranges::find(texts_, owner, &Text::owner);
  if (found == texts_.end()) return {};
  std::string text = std::move(found->text);
  texts_.erase(found);
  return text;
}

void BottomLine::keep(Owner owner, std::string_view text) {
  if (text.empty()) return;
  Text kept{owner, std::string(text)};
  if (owner == status) return texts_.push_front(std::move(kept));
  texts_.push_back(std::move(kept));
  if (texts_.size() <= owners_max) return;
  texts_.erase(texts_.begin() + (texts_.front().owner == status ? 1 : 0));
}

std::string BottomLine::erased() const {
  return std::string(is_drawn_ ? erase_row : "");
}

/// The last column stays free: a terminal may go to the next row after it.
std::string BottomLine::drawn(int columns) {
  is_drawn_ = !texts_.empty();
  return is_drawn_ ? cut_to_columns(texts_.back().text, columns - 1) : std::string();
}

std::string cut_to_columns(std::string_view text, int columns) {
  std::size_t at = 0;
  for (int used = 0; at < text.size();) {
    if (const std::size_t sequence = sequence_bytes(text.substr(at)); sequence > 0) {
      at += sequence;
      continue;
    }
    if (used++ >= columns) break;
    ++at;
    while (at < text.size() && continues_character(text[at])) ++at;
  }
  std::string cut(text.substr(0, at));
  const bool is_coloured = cut.find(escape) != std::string::npos;
  if (at < text.size() && is_coloured) cut += plain_again;
  return cut;
}

}  // namespace ddprun
