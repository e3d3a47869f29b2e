#include "launcher/options/read_setting.hpp"

#include "launcher/text/nearest.hpp"
#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace ddprun {

std::string name_of_setting(std::string_view name, const Setting& setting) {
  return fmt::format("--{}: '{}' from {}", name, setting.value, setting.origin);
}

Error refused_setting(std::string_view name,
                      const Setting& setting,
                      std::string why,
                      std::string fix) {
  return {ExitStatus::usage,
          fmt::format("{} {}", name_of_setting(name, setting), why),
          "",
          std::move(fix)};
}

Result<int> read_count(
    std::string_view name, const Setting& setting, std::string_view what, int low, int high) {
  const auto count = parse_count(setting.value);
  if (!count || *count < low || *count > high) {
    return refused_setting(
        name, setting, fmt::format("is no {}", what), fmt::format("write {} to {}", low, high));
  }
  return static_cast<int>(*count);
}

Result<Millis> read_duration(std::string_view name, const Setting& setting) {
  const auto duration = parse_duration(setting.value);
  if (!duration) return refused_setting(name, setting, "is no time", "write 250ms, 5s, 2m or 1h");
  return *duration;
}

Result<std::optional<Millis>> read_duration_or_off(std::string_view name, const Setting& setting) {
  if (setting.value == "off") return std::optional<Millis>();
  const auto duration = parse_duration(setting.value);
  if (duration) return duration;
  return refused_setting(name,
                         setting,
                         "is no time",
                         did_you_mean(setting.value, {"off"}, "write off, 90s, 5m or 1h"));
}

Result<std::size_t> read_size(std::string_view name, const Setting& setting, std::size_t low) {
  const auto size = parse_size(setting.value);
  if (!size) return refused_setting(name, setting, "is no size", "write 512MiB, 2GiB or 1.5GiB");
  if (static_cast<std::size_t>(*size) < low) {
    const std::string least = fmt::format("write {}MiB or more", low >> 20);
    return refused_setting(name, setting, "is too little", least);
  }
  return static_cast<std::size_t>(*size);
}

Result<bool> read_flag(std::string_view name, const Setting& setting) {
  if (setting.value == "true") return true;
  if (setting.value == "false" || setting.value.empty()) return false;
  return refused_setting(name, setting, "is neither true nor false", "write 1 or 0");
}

Result<std::vector<IpNetwork>> read_networks(std::string_view name, const Setting& setting) {
  std::vector<IpNetwork> networks;
  for (const std::string_view text : parts_of(setting.value)) {
    const auto network = parse_ip_network(std::string(text));
    if (!network) {
      return refused_setting(name,
                             setting,
                             fmt::format("has '{}', which is no network", text),
                             "write addresses and networks such as 10.1.0.0/16,fd00::/8");
    }
    networks.push_back(*network);
  }
  return networks;
}

}  // namespace ddprun
