#include "launcher/system/control_group.hpp"

#include <fstream>
#include <sstream>

namespace ddprun {
namespace {

bool has_word(std::string_view words, std::string_view word) {
  return ("," + std::string(words) + ",").find("," + std::string(word) + ",") != std::string::npos;
}

}  // namespace

/// Each line is "ID:CONTROLLERS:PATH"; version 2 has 0 and no controllers.
std::optional<ControlGroup> group_in(std::string_view cgroups, std::string_view controller) {
  std::optional<ControlGroup> found;
  std::istringstream lines{std::string(cgroups)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    if (has_word(line.substr(first + 1, second - first - 1), controller)) {
      return ControlGroup{"/sys/fs/cgroup/" + std::string(controller), path, true};
    }
    if (line.starts_with("0::")) found = ControlGroup{"/sys/fs/cgroup", path};
  }
  return found;
}

std::optional<ControlGroup> own_group(const std::string& root, std::string_view controller) {
  return group_in(kernel_text(root + "/proc/self/cgroup"), controller);
}

std::string kernel_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace ddprun
