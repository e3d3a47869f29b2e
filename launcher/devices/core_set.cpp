#include "launcher/devices/core_set.hpp"

#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ddprun {

std::optional<CoreSet> parse_cores(std::string_view text) {
  CoreSet cores;
  text = trimmed(text, " \t\n");
  if (text.ends_with(',')) return std::nullopt;
  for (const std::string_view range : parts_of(text)) {
    const std::size_t dash = std::min(range.find('-'), range.size());
    const auto first = parse_count(range.substr(0, dash));
    const auto last = dash == range.size() ? first : parse_count(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last > core_number_max) return std::nullopt;
    for (auto core = *first; core <= *last; ++core) cores.insert(static_cast<int>(core));
  }
  return cores;
}

std::string text_of_cores(const CoreSet& cores) {
  std::string text;
  for (auto first = cores.begin(); first != cores.end();) {
    auto last = first;
    for (auto next = std::next(last); next != cores.end() && *next == *last + 1; ++next)
      last = next;
    if (!text.empty()) text += ',';
    text += first == last ? fmt::to_string(*first) : fmt::format("{}-{}", *first, *last);
    first = std::next(last);
  }
  return text;
}

CoreSet intersection(const CoreSet& left, const CoreSet& right) {
  CoreSet both;
  std::ranges::set_intersection(left, right, std::inserter(both, both.end()));
  return both;
}

}  // namespace ddprun
