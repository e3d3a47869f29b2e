#include "launcher/processes/command.hpp"

#include <fmt/format.h>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace ddprun {
namespace {

namespace fs = std::filesystem;

bool is_on_local_disk(const fs::path& path) {
  constexpr std::array<long, 5> local_systems{
      EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, TMPFS_MAGIC};
  struct statfs found {};
  return ::statfs(path.c_str(), &found) == 0 &&
         std::ranges::find(local_systems, found.f_type) != local_systems.end();
}

/// With each folder and link on the way, which execve() looks up, too.
bool is_reached_over_local_disks(const fs::path& path, int links_max) {
  fs::path here;
  for (auto part = path.begin(); part != path.end(); ++part) {
    here /= *part;
    std::error_code failed;
    if (!fs::is_symlink(here, failed)) {
      if (!is_on_local_disk(here)) return false;
      continue;
    }
    fs::path target = here.parent_path() / fs::read_symlink(here, failed);
    for (++part; part != path.end(); ++part) target /= *part;
    return !failed && links_max > 0 && is_reached_over_local_disks(target, links_max - 1);
  }
  return true;
}

}  // namespace

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

bool is_local_program(const std::string& path) {
  constexpr int links_max = 40;  // Linux follows no more
  std::error_code failed;
  const fs::path whole = fs::absolute(path, failed);
  if (failed || !is_reached_over_local_disks(whole, links_max)) return false;
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
