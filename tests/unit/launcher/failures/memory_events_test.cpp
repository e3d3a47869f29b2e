#include "launcher/failures/memory_events.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

TEST_CASE("memory events: the kills are those of their own line") {
  CHECK(oom_kills_in("low 1\noom 5\noom_kill 3\noom_group_kill 1\n") == 3);
  CHECK(oom_kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 0") == 0);
  for (const char* text : {"", "oom 3\n", "oom_kill \n", "oom_kill x\n", "oom_kill 3 4\n"}) {
    CHECK_FALSE(oom_kills_in(text));
  }
}

TEST_CASE("memory events: the count is read where the group is mounted") {
  const TempFolder kernel;
  CHECK_FALSE(oom_kills(kernel.path()));
  (void)kernel.write("proc/self/cgroup", "0::/job/step\n");
  CHECK_FALSE(oom_kills(kernel.path()));
  (void)kernel.write("sys/fs/cgroup/memory.events", "oom_kill 1\n");
  CHECK(oom_kills(kernel.path()) == 1);
  (void)kernel.write("sys/fs/cgroup/job/step/memory.events", "oom_kill 2\n");
  CHECK(oom_kills(kernel.path()) == 2);
  (void)kernel.write("proc/self/cgroup", "4:memory:/job\n0::/job/step\n");
  (void)kernel.write("sys/fs/cgroup/memory/memory.oom_control", "oom_kill 4\n");
  CHECK(oom_kills(kernel.path()) == 4);
}

}  // namespace
}  // namespace ddprun
