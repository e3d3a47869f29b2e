#include "launcher/processes/lines.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ddprun {
namespace {

bool are_blanks(std::string_view begun, std::string_view rest) {
  constexpr auto other = [](char c) { return c != ' '; };
  return std::ranges::none_of(begun, other) && std::ranges::none_of(rest, other);
}

}  // namespace

/// In blocks, since a search for one of the two must not run on far beyond the other.
std::size_t line_end(std::string_view text) {
  constexpr std::size_t block_bytes = 256;
  for (std::size_t at = 0; at < text.size(); at += block_bytes) {
    const std::string_view block = text.substr(at, block_bytes);
    const std::size_t feed = block.find('\n');
    const std::size_t end = std::min(feed, block.substr(0, feed).find('\r'));
    if (end != std::string_view::npos) return at + end;
  }
  return std::string_view::npos;
}

std::string LinePrefixer::feed(std::string_view bytes) {
  std::string out;
  if (bytes.empty()) return out;
  out.reserve(begun_.size() + bytes.size() + bytes.size() / 4);  // the usual lines with prefixes
  take_ending(bytes, out);
  while (!bytes.empty()) {
    const std::size_t end = line_end(bytes);
    const std::size_t room = line_bytes_max - begun_.size();
    if (std::min(end, bytes.size()) > room) {  // too long: a piece of it becomes a line
      out += prefix_of(bytes);
      out += begun_;
      out += bytes.substr(0, room);
      out += '\n';
      begun_.clear();
      bytes.remove_prefix(room);
      continue;
    }
    if (end == std::string_view::npos) {
      begun_ += bytes;
      break;
    }
    const std::size_t ending = bytes.substr(end).starts_with("\r\n") ? 2 : 1;
    const bool returns = bytes[end + ending - 1] == '\r';
    if (returns && are_blanks(begun_, bytes.substr(0, end))) {
      begun_ += bytes.substr(0, end);
      after_ = After::blank_return;
    } else {
      out += prefix_of(bytes);
      out += begun_;
      out += bytes.substr(0, end + ending);
      begun_.clear();
      after_ = returns ? After::state : After::line;
    }
    bytes.remove_prefix(end + ending);
    take_ending(bytes, out);
  }
  return out;
}

/// What follows a "\r": a "\n" belongs to it, and then blanks before it were a line.
void LinePrefixer::take_ending(std::string_view& bytes, std::string& out) {
  if (after_ == After::line || bytes.empty()) return;
  const bool is_line = bytes.front() == '\n';
  if (after_ == After::blank_return) {
    if (is_line) {
      out += prefix_of({});
      out += begun_;
    }
    out += '\r';
    begun_.clear();
  }
  if (is_line) {
    out += '\n';
    bytes.remove_prefix(1);
  }
  after_ = After::line;
}

/// The end of the line that was begun, continued by `rest`.
std::string_view LinePrefixer::prefix_of(std::string_view rest) const {
  if (beginnings_.empty()) return prefix_;
  constexpr std::size_t beginning_max = 64;
  std::string line = begun_.substr(0, beginning_max);
  line += rest.substr(0, beginning_max);
  const bool fits = std::ranges::any_of(
      beginnings_, [&](const std::string& beginning) { return line.starts_with(beginning); });
  return fits ? std::string_view(prefix_) : std::string_view();
}

std::string LinePrefixer::begun() const {
  constexpr std::size_t shown_max = 4096;  // wider than terminals are
  if (begun_.empty() || after_ == After::blank_return) return {};
  return std::string(prefix_of({})) + begun_.substr(0, shown_max);
}

std::string LinePrefixer::finish() {
  const After after = std::exchange(after_, After::line);
  std::string line;
  if (!begun_.empty()) line = std::string(prefix_of({})) + begun_ + '\n';
  begun_.clear();
  if (after == After::blank_return) return "\r";
  if (after == After::state && line.empty()) return "\n";
  return line;
}

namespace {

/// Where the last `count` lines of `text` begin, the one behind its last "\n" not counted; 0 if it
/// has no more.
std::size_t last_lines_begin(std::string_view text, std::size_t count) {
  std::string_view before = text;
  for (std::size_t found = 0; found <= count; ++found) {
    const void* const feed = ::memrchr(before.data(), '\n', before.size());
    if (feed == nullptr) return 0;
    before = text.substr(0, static_cast<std::size_t>(static_cast<const char*>(feed) - text.data()));
  }
  return before.size() + 1;
}

}  // namespace

void Tail::feed(std::string_view bytes) {
  if (const std::size_t begin = last_lines_begin(bytes, lines_max); begin > 0) {
    bytes.remove_prefix(begin);  // nothing before them is kept
    begun_.clear();
  }
  while (!bytes.empty()) {
    if (returned_ && bytes.front() != '\n') begun_.clear();  // it is written over
    returned_ = false;
    const std::size_t end = std::min(line_end(bytes), bytes.size());
    begun_ += bytes.substr(0, std::min(end, bytes_max - begun_.size()));
    if (end == bytes.size()) return;
    returned_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (returned_) continue;
    ended_.push_back(std::move(begun_));
    begun_.clear();
    if (ended_.size() > lines_max) ended_.pop_front();
  }
}

std::deque<std::string> Tail::lines() const {
  std::deque<std::string> all = ended_;
  if (!begun_.empty()) all.push_back(begun_);
  if (all.size() > lines_max) all.pop_front();
  return all;
}

}  // namespace ddprun
