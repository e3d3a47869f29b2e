// That the worker of these tests says what it sees: the tests of ddprun on many nodes believe it.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

namespace hosts {
TEST_CASE("hosts kit: workers of one ddprun say where they are and do what they are told") {
  if (!can_hold_hosts()) return;
  Training training(1);
  const Program& job = training[0].run(
      {E2E_DDPRUN, "--nproc-per-node=2", "--max-restarts=1", "--console=0", HOSTS_WORKER});
  const std::vector<Start> first = training.generation(1, 2);
  CHECK(count_on(training[0], first) == 2);
  CHECK(first.front().restart_count == 0);
  CHECK(first.front().at <= now_boottime());
  CHECK(training.workers(0).size() == 2);
  training.say(1, 0, 1000);
  training.cluster().wait_until("lines", [&] { return e2e::count_of("xxx\n", job.out()) == 1000; });
  training.fail(1, 1, 9);
  CHECK(training.generation(2, 2).front().restart_count == 1);
  CHECK(training.newest() == 2);
  training.finish();
  training.expect_end(0);
}

}  // namespace hosts
