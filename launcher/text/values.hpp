// Parses values: numbers, durations, sizes, sets of ranks.
#pragma once

#include "rendezvous/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun {

/// A decimal number without sign, blanks or anything after it; nothing if `text` is no such number
/// or does not fit.
[[nodiscard]] std::optional<std::int64_t> parse_count(std::string_view text);

struct CountBounds {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
/// "2:4", or "3" for 3:3; nothing if either is no such number.
[[nodiscard]] std::optional<CountBounds> parse_bounds(std::string_view text);

/// Without such characters around it.
[[nodiscard]] std::string_view trimmed(std::string_view text, std::string_view blanks = " \t");

/// What stands between commas: of "a,,b," that is "a", "" and "b". Views into `list`.
[[nodiscard]] std::vector<std::string_view> parts_of(std::string_view list);

/// "250ms", "5s", "2m", "1h", "1.5s"; a bare number is seconds. Nothing for anything else, negative
/// times and more than a year.
[[nodiscard]] std::optional<Millis> parse_duration(std::string_view text);

/// "64MiB", "2GiB", "1.5GiB"; also KiB and TiB, and a bare number is bytes. Nothing for anything
/// else, and for more than a pebibyte.
[[nodiscard]] std::optional<std::int64_t> parse_size(std::string_view text);

/// A set of ranks: "all", "none", "0", "0,2-5".
class RankSet {
 public:
  [[nodiscard]] static std::optional<RankSet> parse(std::string_view text);
  [[nodiscard]] bool contains(Rank rank) const;
  /// Where the last of its ranges begins, or -1 for none.
  [[nodiscard]] std::int64_t last_begin() const;

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges_;  // first and last
};

}  // namespace ddprun
