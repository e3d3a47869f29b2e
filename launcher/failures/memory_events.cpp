#include "launcher/failures/memory_events.hpp"

#include "launcher/system/control_group.hpp"

#include <charconv>
#include <sstream>
#include <system_error>

namespace ddprun {

std::optional<std::int64_t> oom_kills_in(std::string_view text) {
  constexpr std::string_view name = "oom_kill ";
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::int64_t count = 0;
    const std::string_view number = std::string_view(line).substr(name.size());
    const auto [end, wrong] = std::from_chars(number.begin(), number.end(), count);
    if (wrong != std::errc{} || end != number.end()) return std::nullopt;
    return count;
  }
  return std::nullopt;
}

std::optional<std::int64_t> oom_kills(const std::string& root) {
  const auto group = own_group(root, "memory");
  if (!group) return std::nullopt;
  const std::string file = group->is_old ? "/memory.oom_control" : "/memory.events";
  const std::string mount = root + group->mount;
  if (const auto kills = oom_kills_in(kernel_text(mount + group->path + file))) return kills;
  return oom_kills_in(kernel_text(mount + file));
}

}  // namespace ddprun
