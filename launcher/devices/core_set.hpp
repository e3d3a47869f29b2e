// Sets of cores, as Linux numbers and writes them: "0-3,8". Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace ddprun {

/// Logical ones: each hyperthread has a number of its own.
using CoreSet = std::set<int>;

/// More than Linux can be built for.
constexpr int core_number_max = 65'535;

/// Of "0-3,8", with blanks around it; empty for an empty text, nothing for what is no list.
[[nodiscard]] std::optional<CoreSet> parse_cores(std::string_view text);

/// "0-3,8"; empty for no core.
[[nodiscard]] std::string text_of_cores(const CoreSet& cores);

/// Those in both.
[[nodiscard]] CoreSet intersection(const CoreSet& left, const CoreSet& right);

}  // namespace ddprun
