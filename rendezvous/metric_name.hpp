// The metrics that a worker tells its agent: their names, and how many there may be. A header
// alone, since workers link nothing else of this folder. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace ddprun {

constexpr std::size_t metrics_max = 16;  ///< Names of a rank; further ones are ignored.
constexpr std::size_t metric_name_bytes_max = 40;

/// 1 to 40 visible ASCII characters, which so have no blank among them.
[[nodiscard]] inline bool is_metric_name(std::string_view name) {
  const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
  return !name.empty() && name.size() <= metric_name_bytes_max &&
         std::all_of(name.begin(), name.end(), is_visible);
}

}  // namespace ddprun
