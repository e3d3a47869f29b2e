#include "launcher/node/memory_events.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace ddprun {
namespace {

/// A folder with the files of a kernel, removed at the end.
class KernelFiles {
 public:
  KernelFiles() {
    std::string path = "/tmp/ddprun-unit-XXXXXX";
    root_ = ::mkdtemp(path.data());
  }
  ~KernelFiles() { std::filesystem::remove_all(root_); }
  KernelFiles(const KernelFiles&) = delete;
  KernelFiles& operator=(const KernelFiles&) = delete;

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  std::string root_;
};

TEST_CASE("memory events: the group of either version has its file") {
  CHECK(oom_file("0::/user.slice/x\n") == "/sys/fs/cgroup/user.slice/x/memory.events");
  CHECK(oom_file("9:cpuset:/a\n4:cpu,memory:/job/1\n0::/\n") ==
        "/sys/fs/cgroup/memory/job/1/memory.oom_control");
  CHECK(oom_file("0::/a:b\n4:hugetlb:/c") == "/sys/fs/cgroup/a:b/memory.events");
  for (const char* text : {"", "\n", "4", "4:memory", "3:memoryless:/a"}) {
    CHECK(oom_file(text).empty());
  }
}

TEST_CASE("memory events: the kills are those of their own line") {
  CHECK(oom_kills_in("low 1\noom 5\noom_kill 3\noom_group_kill 1\n") == 3);
  CHECK(oom_kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 0") == 0);
  for (const char* text : {"", "oom 3\n", "oom_kill \n", "oom_kill x\n", "oom_kill 3 4\n"}) {
    CHECK_FALSE(oom_kills_in(text));
  }
}

TEST_CASE("memory events: the count is read where the group is mounted") {
  const KernelFiles kernel;
  CHECK_FALSE(oom_kills(kernel.root()));
  kernel.write("/proc/self/cgroup", "0::/job/step\n");
  CHECK_FALSE(oom_kills(kernel.root()));
  kernel.write("/sys/fs/cgroup/memory.events", "oom_kill 1\n");
  CHECK(oom_kills(kernel.root()) == 1);
  kernel.write("/sys/fs/cgroup/job/step/memory.events", "oom_kill 2\n");
  CHECK(oom_kills(kernel.root()) == 2);
  kernel.write("/proc/self/cgroup", "4:memory:/job\n0::/job/step\n");
  kernel.write("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill 4\n");
  CHECK(oom_kills(kernel.root()) == 4);
}

}  // namespace
}  // namespace ddprun
