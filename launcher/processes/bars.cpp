#include "launcher/processes/bars.hpp"

#include "launcher/processes/lines.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

std::string_view BarThinner::feed(std::string_view bytes, Instant now) {
  out_.clear();
  if (const std::size_t whole = whole_lines(bytes); whole > 0) {
    out_ = std::exchange(line_, std::string(bytes.substr(whole)));
    if (out_.empty()) return bytes.substr(0, whole);
    out_ += bytes.substr(0, whole);
    return out_;
  }
  while (!bytes.empty()) {
    if (std::exchange(returned_, false)) {
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        take_line("\r\n");
        continue;
      }
      take_state(now);
    }
    const std::size_t end = std::min(line_end(bytes), bytes.size());
    line_ += bytes.substr(0, end);
    if (line_.size() > line_bytes_max) out_ += std::exchange(line_, {});  // it is no bar
    if (end == bytes.size()) break;
    returned_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!returned_) take_line("\n");
  }
  return out_;
}

/// How many bytes end with the last "\n", if all of them are to be shown as they are; else 0.
std::size_t BarThinner::whole_lines(std::string_view bytes) const {
  const std::size_t whole = bytes.rfind('\n') + 1;  // 0 for npos
  const bool has_bar = !bar_.empty() || returned_ || bytes.find('\r') != std::string_view::npos;
  return has_bar || bytes.size() - whole > line_bytes_max ? 0 : whole;
}

/// An empty one ends a bar where it stands; another one has written it over.
void BarThinner::take_line(std::string_view ending) {
  if (line_.empty()) line_ = bar_;
  bar_.clear();
  out_ += line_;
  out_ += ending;
  line_.clear();
}

/// Blanks only make room.
void BarThinner::take_state(Instant now) {
  if (!keep_state() || (shown_ && now - *shown_ < pause)) return;
  shown_ = now;
  out_ += std::exchange(bar_, {}) + '\n';
}

bool BarThinner::keep_state() {
  const bool is_state = line_.find_first_not_of(' ') != std::string::npos;
  if (is_state) bar_ = line_;
  line_.clear();
  return is_state;
}

/// A line that never ended has written the state before it over, unless it is blank.
std::string BarThinner::finish() {
  if (std::exchange(returned_, false)) keep_state();
  if (line_.find_first_not_of(' ') != std::string::npos) bar_.clear();
  std::string rest = std::exchange(bar_, {});
  if (!rest.empty()) rest += '\n';
  return rest + std::exchange(line_, {});
}

}  // namespace ddprun
