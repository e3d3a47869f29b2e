#include "launcher/options/restart_options.hpp"

#include "launcher/options/read_setting.hpp"
#include "launcher/text/nearest.hpp"
#include "launcher/text/values.hpp"

#include <optional>
#include <string>

namespace ddprun {
namespace {

constexpr int restarts_limit = 1'000'000;

Result<std::optional<Millis>> read_window(const Setting& setting) {
  constexpr const char* name = "restart-window";
  if (setting.value == "off") return std::optional<Millis>();
  const auto window = parse_duration(setting.value);
  if (!window) {
    return refused_setting(name,
                           setting,
                           "is no time",
                           did_you_mean(setting.value, {"off"}, "write off, 5m, 1h or 24h"));
  }
  if (*window <= Millis{0}) {
    return refused_setting(name, setting, "counts no failure", "write off, or a longer time");
  }
  return window;
}

/// One time stands for both.
Result<void> read_backoff(const Setting& setting, RestartOptions& options) {
  constexpr const char* name = "restart-backoff";
  const std::size_t colon = setting.value.find(':');
  const auto low = parse_duration(setting.value.substr(0, colon));
  const auto high =
      colon == std::string::npos ? low : parse_duration(setting.value.substr(colon + 1));
  if (!low || !high) {
    return refused_setting(
        name, setting, "are no times", "write MIN:MAX such as 0s:30s, or one time");
  }
  if (*low > *high) {
    return refused_setting(name, setting, "has MIN beyond MAX", "write MIN:MAX with MIN <= MAX");
  }
  options.wait_min = *low;
  options.wait_max = *high;
  return {};
}

}  // namespace

Result<RestartOptions> read_restart_options(const Settings& all) {
  RestartOptions options;
  const auto count_max =
      read_count("max-restarts", all.at("max-restarts"), "number of restarts", 0, restarts_limit);
  if (!count_max) return count_max.error();
  options.count_max = *count_max;
  const auto window = read_window(all.at("restart-window"));
  if (!window) return window.error();
  options.window = *window;
  if (const auto read = read_backoff(all.at("restart-backoff"), options); !read) {
    return read.error();
  }
  return options;
}

}  // namespace ddprun
