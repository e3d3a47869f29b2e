#include "launcher/devices.hpp"

#include "launcher/values.hpp"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <vector>

namespace ddprun {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The UUID in one device's `information` ("GPU UUID:   GPU-…"), or empty.
std::string read_uuid(const std::filesystem::path& information) {
  constexpr std::string_view key = "GPU UUID:";
  std::ifstream file(information);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key))
      return std::string(trimmed(std::string_view(line).substr(key.size())));
  }
  return {};
}

/// The index of the device that `entry` names by index, UUID or unique beginning of one.
std::optional<std::size_t> find_device(std::string_view entry,
                                       const std::vector<std::string>& uuids) {
  if (const auto index = parse_count(entry)) {
    if (static_cast<std::size_t>(*index) >= uuids.size()) return std::nullopt;
    return static_cast<std::size_t>(*index);
  }
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    if (!entry.starts_with("GPU-") || !uuids[i].starts_with(entry)) continue;
    if (found) return std::nullopt;  // not unique
    found = i;
  }
  return found;
}

}  // namespace

std::vector<std::string> list_gpus(const std::string& gpus_folder) {
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(gpus_folder, error)) {
    folders.push_back(entry.path());
  }
  std::ranges::sort(folders);  // by PCI address
  std::vector<std::string> uuids;
  for (const auto& folder : folders) uuids.push_back(read_uuid(folder / "information"));
  return uuids;
}

int count_visible_gpus(const std::vector<std::string>& uuids,
                       const std::optional<std::string>& cuda_visible_devices) {
  if (!cuda_visible_devices) return static_cast<int>(uuids.size());
  std::set<std::size_t> visible;
  std::string_view list = *cuda_visible_devices;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const auto device = find_device(trimmed(list.substr(0, comma)), uuids);
    if (!device) break;
    if (!visible.insert(*device).second) return 0;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return static_cast<int>(visible.size());
}

int count_usable_cores() {
  cpu_set_t* cores = CPU_ALLOC(CPU_SETSIZE * 8);
  const std::size_t bytes = CPU_ALLOC_SIZE(CPU_SETSIZE * 8);
  const int count = sched_getaffinity(0, bytes, cores) == 0 ? CPU_COUNT_S(bytes, cores) : 1;
  CPU_FREE(cores);
  return std::max(1, count);
}

}  // namespace ddprun
