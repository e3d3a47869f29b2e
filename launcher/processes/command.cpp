#include "launcher/processes/command.hpp"

#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace ddprun {

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::string find_on_path(const std::string& name,
                         const Environment& environment,
                         PathFolders which) {
  std::string folders = find_variable(environment, "PATH").value_or(default_path);
  while (!folders.empty()) {
    const std::size_t colon = std::min(folders.find(':'), folders.size());
    const std::string folder = colon == 0 ? "." : folders.substr(0, colon);
    const std::string candidate = fmt::format("{}/{}", folder, name);
    const bool counts = which == PathFolders::all || candidate.starts_with('/');
    if (counts && is_executable_file(candidate)) return candidate;
    folders.erase(0, colon + 1);
  }
  return {};
}

}  // namespace ddprun
