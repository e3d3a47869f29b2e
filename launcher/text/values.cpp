#include "launcher/text/values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

namespace ddprun {
namespace {

constexpr std::int64_t year_ms = 366LL * 24 * 3600 * 1000;

constexpr std::int64_t pebibyte = std::int64_t{1} << 50;

struct Unit {
  std::string_view suffix;
  double factor;
};
constexpr std::array time_units{
    Unit{"ms", 1}, Unit{"s", 1000}, Unit{"m", 60'000}, Unit{"h", 3'600'000}};
constexpr std::array size_units{
    Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}};

/// A number, times the factor of the first unit that the text ends with.
std::optional<double> parse_measure(std::string_view text,
                                    std::span<const Unit> units,
                                    double bare_factor) {
  double factor = bare_factor;
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.suffix)) continue;
    factor = unit.factor;
    text.remove_suffix(unit.suffix.size());
    break;
  }
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number * factor;
}

}  // namespace

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || text.front() == '-') return std::nullopt;
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<CountBounds> parse_bounds(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto low = parse_count(text.substr(0, colon));
  const auto high = colon == std::string_view::npos ? low : parse_count(text.substr(colon + 1));
  if (!low || !high) return std::nullopt;
  return CountBounds{*low, *high};
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  while (!list.empty()) {
    parts.push_back(list.substr(0, list.find(',')));
    list.remove_prefix(std::min(parts.back().size() + 1, list.size()));
  }
  return parts;
}

std::optional<Millis> parse_duration(std::string_view text) {
  const auto ms = parse_measure(text, time_units, 1000);  // "ms" stands before "s"
  if (!ms || !(*ms >= 0 && *ms <= static_cast<double>(year_ms))) return std::nullopt;
  return Millis{std::llround(*ms)};
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  const auto bytes = parse_measure(text, size_units, 1);
  if (!bytes || !(*bytes >= 0 && *bytes <= static_cast<double>(pebibyte))) return std::nullopt;
  return std::llround(*bytes);
}

std::optional<RankSet> RankSet::parse(std::string_view text) {
  RankSet set;
  if (text == "none") return set;
  if (text == "all") {
    set.ranges_.emplace_back(0, std::numeric_limits<std::int64_t>::max());
    return set;
  }
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view range = text.substr(0, comma);
    const std::size_t dash = std::min(range.find('-'), range.size());
    const auto first = parse_count(range.substr(0, dash));
    const auto last = dash == range.size() ? first : parse_count(range.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    set.ranges_.emplace_back(*first, *last);
    if (comma == text.size()) return set;
    text.remove_prefix(comma + 1);
  }
}

bool RankSet::contains(Rank rank) const {
  return std::ranges::any_of(ranges_, [&](const auto& range) {
    return range.first <= rank.value && rank.value <= range.second;
  });
}

std::int64_t RankSet::last_begin() const {
  std::int64_t last = -1;
  for (const auto& range : ranges_) last = std::max(last, range.first);
  return last;
}

}  // namespace ddprun
