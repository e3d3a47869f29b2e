#include "launcher/options/restart_options.hpp"

#include "launcher/options/read_setting.hpp"
#include "launcher/text/values.hpp"

#include <optional>
#include <string>

namespace ddprun {
namespace {

constexpr int restarts_limit = 1'000'000;

Result<std::optional<Millis>> read_window(const Setting& setting) {
  constexpr const char* name = "restart-window";
  const auto window = read_duration_or_off(name, setting);
  if (window.has_value() && *window && **window <= Millis{0}) {
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

Result<std::optional<Millis>> read_hang_timeout(const Settings& all) {
  constexpr const char* name = "hang-timeout";
  constexpr Millis least{1'000};  // workers tell of their steps a few times a second
  const auto time = read_duration_or_off(name, all.at(name));
  if (time.has_value() && *time && **time < least) {
    return refused_setting(
        name, all.at(name), "is less than workers need to tell of a step", "write off, 1s or more");
  }
  return time;
}

}  // namespace ddprun
