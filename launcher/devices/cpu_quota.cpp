#include "launcher/devices/cpu_quota.hpp"

#include "launcher/devices/core_set.hpp"
#include "launcher/system/control_group.hpp"
#include "launcher/text/values.hpp"

#include <algorithm>
#include <cstdint>

namespace ddprun {
namespace {

/// cpu.max of version 2 is "QUOTA PERIOD"; version 1 has a file for each.
std::optional<int> cores_in(const std::string& folder, bool is_old) {
  if (is_old) {
    return cores_of_quota(kernel_text(folder + "/cpu.cfs_quota_us"),
                          kernel_text(folder + "/cpu.cfs_period_us"));
  }
  const std::string both = kernel_text(folder + "/cpu.max");
  const std::size_t blank = std::min(both.find(' '), both.size());
  return cores_of_quota(both.substr(0, blank), both.substr(blank));
}

}  // namespace

std::optional<int> cores_of_quota(std::string_view quota, std::string_view period) {
  const auto used = parse_count(trimmed(quota, " \n"));
  const auto of = parse_count(trimmed(period, " \n"));
  if (!used || !of || *of == 0) return std::nullopt;
  return static_cast<int>(std::clamp<std::int64_t>(*used / *of, 1, core_number_max));
}

std::optional<int> cores_of_own_quota(const std::string& root) {
  const auto group = own_group(root, "cpu");
  if (!group) return std::nullopt;
  std::optional<int> least;
  std::string path = group->path == "/" ? "" : group->path;
  while (true) {
    const auto cores = cores_in(root + group->mount + path, group->is_old);
    if (cores) least = std::min(*cores, least.value_or(*cores));
    if (path.empty()) return least;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

}  // namespace ddprun
