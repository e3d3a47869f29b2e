#include "launcher/processes/line_filter.hpp"

#include <algorithm>

namespace ddprun {

std::string LineFilter::kept(std::string_view lines) const {
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = std::min(line_end(lines), lines.size() - 1);
    const std::size_t ending = lines.substr(end).starts_with("\r\n") ? 2 : 1;
    const std::string_view line = lines.substr(0, end + ending);
    const auto has = [&](const std::string& text) {
      return line.find(text) != std::string_view::npos;
    };
    if (std::ranges::any_of(texts_, has)) out += line;
    lines.remove_prefix(line.size());
  }
  return out;
}

}  // namespace ddprun
