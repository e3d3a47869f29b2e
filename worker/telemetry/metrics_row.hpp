// The rows of a MetricsFile as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun::worker {

/// One line of JSON, without a newline: {"step":7,"loss":0.5}. See MetricsFile::write().
[[nodiscard]] std::string metrics_row(std::int64_t step,
                                      const std::vector<std::pair<std::string, double>>& values);

/// The step of a row, nothing if `line` is none.
[[nodiscard]] std::optional<std::int64_t> step_of_row(std::string_view line);

/// Whether `line` can be the beginning of a row that was cut off.
[[nodiscard]] bool may_begin_row(std::string_view line);

}  // namespace ddprun::worker
