#include "launcher/processes/line_filter.hpp"

#include <algorithm>

namespace ddprun {

/// Of a line that ends with "\r\n", the "\n" may come later, as if it were a line.
std::string LineFilter::kept(std::string_view lines) {
  std::string out;
  if (lines.starts_with('\n') && returned_) {
    if (has_kept_) out += '\n';
    returned_ = false;
    lines.remove_prefix(1);
  }
  while (!lines.empty()) {
    const std::size_t end = std::min(line_end(lines), lines.size() - 1);
    const std::size_t ending = lines.substr(end).starts_with("\r\n") ? 2 : 1;
    const std::string_view line = lines.substr(0, end + ending);
    const auto has = [&](const std::string& text) {
      return line.find(text) != std::string_view::npos;
    };
    has_kept_ = std::ranges::any_of(texts_, has);
    if (has_kept_) out += line;
    returned_ = line.ends_with('\r');
    lines.remove_prefix(line.size());
  }
  return out;
}

}  // namespace ddprun
