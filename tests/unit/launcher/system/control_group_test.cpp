#include "launcher/system/control_group.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

/// "MOUNT PATH", where the files are.
std::string place_of(std::string_view cgroups, std::string_view controller) {
  const auto group = group_in(cgroups, controller);
  if (!group) return "none";
  CHECK(group->is_old == (group->mount != "/sys/fs/cgroup"));
  return group->mount + " " + group->path;
}

TEST_CASE("control group: a controller of version 1 has groups of its own") {
  CHECK(place_of("0::/user.slice/x\n", "memory") == "/sys/fs/cgroup /user.slice/x");
  const char* const both = "9:cpuset:/a\n4:cpu,memory:/job/1\n0::/\n";
  CHECK(place_of(both, "memory") == "/sys/fs/cgroup/memory /job/1");
  CHECK(place_of(both, "cpu") == "/sys/fs/cgroup/cpu /job/1");
  CHECK(place_of(both, "pids") == "/sys/fs/cgroup /");
}

TEST_CASE("control group: a path may have colons, and a line may be of anything") {
  CHECK(place_of("0::/a:b\n4:hugetlb:/c", "memory") == "/sys/fs/cgroup /a:b");
  for (const char* text : {"", "\n", "4", "4:memory", "3:memoryless:/a"}) {
    CHECK(place_of(text, "memory") == "none");
  }
}

}  // namespace
}  // namespace ddprun
