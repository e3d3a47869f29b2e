#include "launcher/node/memory_events.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace ddprun {
namespace {

/// Calls `look` with each line until it returns true.
template <typename Look>
void for_lines(std::string_view text, Look look) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (look(text.substr(0, end))) return;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

bool names_memory(std::string_view controllers) {
  return ("," + std::string(controllers) + ",").find(",memory,") != std::string::npos;
}

/// Files of the kernel, which are short.
std::string kernel_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

/// Each line is "ID:CONTROLLERS:PATH"; version 2 has 0 and no controllers (cgroups(7)).
std::string oom_file(std::string_view cgroups) {
  std::string found;
  for_lines(cgroups, [&](std::string_view line) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return false;
    const std::string path(line.substr(second + 1));
    if (names_memory(line.substr(first + 1, second - first - 1))) {
      found = "/sys/fs/cgroup/memory" + path + "/memory.oom_control";
      return true;
    }
    if (line.starts_with("0::")) found = "/sys/fs/cgroup" + path + "/memory.events";
    return false;
  });
  return found;
}

std::optional<std::int64_t> oom_kills_in(std::string_view text) {
  constexpr std::string_view name = "oom_kill ";
  std::optional<std::int64_t> kills;
  for_lines(text, [&](std::string_view line) {
    if (!line.starts_with(name)) return false;
    std::int64_t count = 0;
    const std::string_view number = line.substr(name.size());
    const auto [end, wrong] = std::from_chars(number.begin(), number.end(), count);
    if (wrong == std::errc{} && end == number.end()) kills = count;
    return true;
  });
  return kills;
}

/// In a container the group's path may be the host's, while the group's files are mounted as the
/// root.
std::optional<std::int64_t> oom_kills(const std::string& root) {
  const std::filesystem::path file = oom_file(kernel_text(root + "/proc/self/cgroup"));
  if (file.empty()) return std::nullopt;
  if (const auto kills = oom_kills_in(kernel_text(root + file.string()))) return kills;
  const bool is_old = file.filename() == "memory.oom_control";
  const std::string mounted = is_old ? "/sys/fs/cgroup/memory/" : "/sys/fs/cgroup/";
  return oom_kills_in(kernel_text(root + mounted + file.filename().string()));
}

}  // namespace ddprun
