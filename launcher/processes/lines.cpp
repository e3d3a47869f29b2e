#include "launcher/processes/lines.hpp"

#include <algorithm>

namespace ddprun {

std::string LinePrefixer::feed(std::string_view bytes) {
  std::string out;
  if (bytes.empty()) return out;
  if (after_return_ && bytes.front() == '\n') {  // the rest of an ending that was shown already
    out += '\n';
    bytes.remove_prefix(1);
  }
  after_return_ = false;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::size_t room = line_bytes_max - begun_.size();
    if (std::min(end, bytes.size()) > room) {  // too long: a piece of it becomes a line
      out += prefix_of(bytes) + begun_;
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
    out += prefix_of(bytes) + begun_;
    out += bytes.substr(0, end + ending);
    begun_.clear();
    bytes.remove_prefix(end + ending);
    after_return_ = bytes.empty() && out.back() == '\r';
  }
  return out;
}

/// The end of the line that was begun, continued by `rest`.
std::string LinePrefixer::prefix_of(std::string_view rest) const {
  constexpr std::size_t beginning_max = 64;
  std::string line = begun_.substr(0, beginning_max);
  line += rest.substr(0, beginning_max);
  const bool fits =
      beginnings_.empty() || std::ranges::any_of(beginnings_, [&](const std::string& beginning) {
        return line.starts_with(beginning);
      });
  return fits ? prefix_ : std::string();
}

std::string LinePrefixer::finish() {
  if (begun_.empty()) return {};
  std::string out = prefix_of({}) + begun_ + '\n';
  begun_.clear();
  return out;
}

void Tail::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (returned_ && bytes.front() != '\n') begun_.clear();  // it is written over
    returned_ = false;
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
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
