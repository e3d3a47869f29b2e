#include "worker/telemetry/metrics_row.hpp"

#include "ddprun/error.hpp"
#include "worker/telemetry/utf8.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace ddprun::worker {
namespace {

constexpr std::string_view row_begin = "{\"step\":";

/// The shortest text that reads back as the same number; strings, as in protobuf's JSON, for those
/// that JSON does not have.
std::string json_number(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

}  // namespace

std::string metrics_row(std::int64_t step,
                        const std::vector<std::pair<std::string, double>>& values) {
  std::string row = std::string(row_begin) + std::to_string(step);
  for (const auto& [name, value] : values) {
    if (name == "step") {
      throw Error("a metric cannot be named \"step\", which each row has; give it another name");
    }
    row += ',';
    row += json_string(name);
    row += ':';
    row += json_number(value);
  }
  row += '}';
  return row;
}

std::optional<std::int64_t> step_of_row(std::string_view line) {
  if (!line.starts_with(row_begin) || !line.ends_with('}')) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = line.data() + line.size();
  const auto read = std::from_chars(line.data() + row_begin.size(), end, step);
  if (read.ec != std::errc() || (*read.ptr != ',' && *read.ptr != '}')) return std::nullopt;
  return step;
}

bool may_begin_row(std::string_view line) {
  return line.starts_with(row_begin) || row_begin.starts_with(line);
}

}  // namespace ddprun::worker
