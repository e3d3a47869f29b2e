#include "launcher/processes/command.hpp"

#include <fmt/format.h>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>

namespace ddprun {

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

bool is_local_program(const std::string& path) {
  constexpr std::array<long, 5> local_systems{
      EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, TMPFS_MAGIC};
  struct statfs found {};
  if (::statfs(path.c_str(), &found) != 0) return false;
  if (std::ranges::find(local_systems, found.f_type) == local_systems.end()) return false;
  std::array<char, 4> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  return start == std::array{'\177', 'E', 'L', 'F'};
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
