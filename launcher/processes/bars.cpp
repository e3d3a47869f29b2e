#include "launcher/processes/bars.hpp"

#include "launcher/processes/lines.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(' ') == std::string_view::npos;  // blanks only make room
}

}  // namespace

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
  if (held_back().empty()) {
    due_.reset();
  } else if (!due_) {
    due_ = now + pause_;
  }
  return out_;
}

/// How many bytes end with the last "\n", if all of them are to be shown as they are; else 0.
std::size_t BarThinner::whole_lines(std::string_view bytes) const {
  const std::size_t whole = bytes.rfind('\n') + 1;  // 0 for npos
  const bool has_bar =
      is_bar_ || !bar_.empty() || returned_ || bytes.find('\r') != std::string_view::npos;
  return has_bar || bytes.size() - whole > line_bytes_max ? 0 : whole;
}

/// An empty one ends a bar where it stands; another one has written it over.
void BarThinner::take_line(std::string_view ending) {
  if (line_.empty()) line_ = bar_.empty() ? shown_early_ : bar_;
  bar_.clear();
  is_bar_ = false;
  if (shown_early_.empty() || line_ != shown_early_) {
    out_ += line_;
    out_ += ending;
  }
  line_.clear();
  shown_early_.clear();
}

void BarThinner::take_state(Instant now) {
  is_bar_ = true;
  if (!keep_state() || (shown_ && now - *shown_ < pause_)) return;
  shown_ = now;
  due_.reset();
  out_ += std::exchange(bar_, {}) + '\n';
}

/// One that was shown early is not kept: it is no new one.
bool BarThinner::keep_state() {
  const bool is_new = !is_blank(line_) && line_ != shown_early_;
  if (is_new) {
    bar_ = line_;
    shown_early_.clear();
  }
  line_.clear();
  return is_new;
}

/// The newest state, unless it was shown: it may be the line that was begun.
std::string_view BarThinner::held_back() const {
  const bool is_begun = (is_bar_ || returned_) && !is_blank(line_);
  const std::string_view newest = is_begun ? line_ : bar_;
  return newest == shown_early_ ? std::string_view() : newest;
}

std::string BarThinner::show(Instant now) {
  due_.reset();
  const std::string state(held_back());
  if (state.empty()) return state;
  shown_ = now;
  shown_early_ = state;
  bar_.clear();
  return state + '\n';
}

/// A line that never ended has written the state before it over, unless it is blank.
std::string BarThinner::finish() {
  due_.reset();
  if (std::exchange(returned_, false)) keep_state();
  if (!is_blank(line_)) bar_.clear();
  std::string rest = std::exchange(bar_, {});
  if (!rest.empty()) rest += '\n';
  if (!shown_early_.empty() && line_ == shown_early_) line_.clear();
  return rest + std::exchange(line_, {});
}

}  // namespace ddprun
