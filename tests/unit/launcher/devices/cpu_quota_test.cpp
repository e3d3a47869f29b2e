#include "launcher/devices/cpu_quota.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

TEST_CASE("cpu quota: whole cores, at least one, and none without a limit") {
  CHECK(cores_of_quota("200000\n", "100000\n") == 2);
  CHECK(cores_of_quota("290000", "100000") == 2);
  CHECK(cores_of_quota("5000", "100000") == 1);
  CHECK(cores_of_quota("9000000000000000000", "1") == 65'535);
  for (const char* quota : {"max", "-1\n", "", "many", "99999999999999999999"}) {
    CHECK_FALSE(cores_of_quota(quota, "100000"));
  }
  for (const char* period : {"", "0", "-1"}) CHECK_FALSE(cores_of_quota("200000", period));
}

TEST_CASE("cpu quota: of a group and those around it the least holds") {
  const TempFolder root;
  CHECK_FALSE(cores_of_own_quota(root.path()));
  (void)root.write("proc/self/cgroup", "0::/slice/job/step\n");
  CHECK_FALSE(cores_of_own_quota(root.path()));
  (void)root.write("sys/fs/cgroup/slice/job/step/cpu.max", "max 100000\n");
  CHECK_FALSE(cores_of_own_quota(root.path()));
  (void)root.write("sys/fs/cgroup/slice/cpu.max", "800000 100000\n");
  CHECK(cores_of_own_quota(root.path()) == 8);
  (void)root.write("sys/fs/cgroup/slice/job/cpu.max", "150000 50000\n");
  CHECK(cores_of_own_quota(root.path()) == 3);
  (void)root.write("sys/fs/cgroup/slice/job/step/cpu.max", "400000 100000\n");
  CHECK(cores_of_own_quota(root.path()) == 3);
}

TEST_CASE("cpu quota: in a container the group's files are those of the root") {
  const TempFolder root;
  (void)root.write("proc/self/cgroup", "0::/../../host/path\n");
  (void)root.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  CHECK(cores_of_own_quota(root.path()) == 2);
  (void)root.write("proc/self/cgroup", "0::/\n");
  CHECK(cores_of_own_quota(root.path()) == 2);
}

TEST_CASE("cpu quota: version 1 has two files, and groups of its own") {
  const TempFolder root;
  (void)root.write("proc/self/cgroup", "4:cpu,cpuacct:/docker/x\n3:cpuset:/a\n0::/\n");
  (void)root.write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  (void)root.write("sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "-1\n");
  (void)root.write("sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000\n");
  CHECK_FALSE(cores_of_own_quota(root.path()));
  (void)root.write("sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "400000\n");
  (void)root.write("sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n");
  CHECK(cores_of_own_quota(root.path()) == 4);
}

}  // namespace
}  // namespace ddprun
