#include "launcher/processes/bottom_line.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {
namespace {

constexpr std::string_view erase_rows = "\r\x1b[J";  // this one and those below
constexpr std::string_view plain_again = "\x1b[0m";
constexpr std::string_view no_next_row = "\x1b[?7l";  // for characters that take two columns
constexpr std::string_view next_row = "\x1b[?7h";
constexpr std::size_t text_bytes_max = 4096;  // more than a row has
constexpr char escape = '\x1b';

/// Of a sequence at the beginning of `text`, "ESC [ ... letter" or "ESC ] ... BEL", or 0.
std::size_t sequence_bytes(std::string_view text) {
  std::size_t end = std::string_view::npos;
  if (text.starts_with("\x1b[")) {
    end = text.find_first_not_of("0123456789;:?<=>", 2);
  } else if (text.starts_with("\x1b]")) {
    end = text.find('\a', 2);
  } else {
    return 0;
  }
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
  const std::string before = extract(owner);
  const std::size_t whole = bytes.rfind('\n') + 1;  // 0 for npos
  keep({owner, std::string(last_state(std::string_view(bytes).substr(whole)))});
  std::string out = erased();
  if (bytes.starts_with('\n')) out += before;  // it ends a bar where it stands
  out += std::string_view(bytes).substr(0, whole);
  return out += drawn(columns);
}

std::string BottomLine::set(Owner owner, std::string_view text, int columns) {
  extract(owner);
  keep({owner, std::string(text), owner != status});
  std::string out = erased();
  return out += drawn(columns);
}

/// Its text, which it has no longer.
std::string BottomLine::extract(Owner owner) {
  const auto found = std::ranges::find(texts_, owner, &Text::owner);
  if (found == texts_.end()) return {};
  std::string text = std::move(found->text);
  texts_.erase(found);
  return text;
}

void BottomLine::keep(Text kept) {
  kept.text = in_one_row(std::string_view(kept.text).substr(0, text_bytes_max));
  if (kept.text.empty()) return;
  if (kept.owner == status) return texts_.push_front(std::move(kept));
  texts_.push_back(std::move(kept));
  if (texts_.size() <= owners_max) return;
  texts_.erase(texts_.begin() + (texts_.front().owner == status ? 1 : 0));
}

std::string BottomLine::erased() const {
  return std::string(is_drawn_ ? erase_rows : "");
}

/// The last column stays free: a terminal may go to the next row after it. If the window becomes
/// narrower, many terminals break the row in several: the cursor then stays in the first of them.
std::string BottomLine::drawn(int columns) {
  is_drawn_ = !texts_.empty();
  if (!is_drawn_) return {};
  std::string out(no_next_row);
  out += cut_to_columns(texts_.back().text, columns - 1);
  out += next_row;
  if (!texts_.back().is_begun) out += '\r';
  return out;
}

std::string in_one_row(std::string_view text) {
  std::string row;
  while (!text.empty()) {
    const std::size_t bytes = std::max<std::size_t>(sequence_bytes(text), 1);
    const auto first = static_cast<unsigned char>(text.front());
    const bool is_colour = bytes > 1 && text[bytes - 1] == 'm';
    if (text.front() == '\t') row += ' ';
    if (is_colour || (bytes == 1 && first >= ' ' && first != 0x7f)) row += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return row;
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
