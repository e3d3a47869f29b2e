// That the worker of these tests says what it sees: the tests of ddprun on many nodes believe it.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <signal.h>

namespace hosts {
namespace {

Variables in_generation(int number) {
  return {{"DDPRUN_GENERATION", std::to_string(number)}, {"RANK", "0"}};
}

void wait_for_starts(Cluster& cluster, std::size_t count) {
  cluster.wait_until("workers",
                     [&] { return e2e::lines_of(cluster.test().read("events")).size() == count; });
}

}  // namespace

TEST_CASE("hosts kit: a worker sees one of another generation on another host") {
  if (!can_hold_hosts()) return;
  for (const int second : {1, 2, 3}) {
    CAPTURE(second);
    Cluster cluster(2);
    const Program& old = cluster[0].run({HOSTS_WORKER}, in_generation(2));
    wait_for_starts(cluster, 1);
    const Program& young = cluster[1].run({HOSTS_WORKER}, in_generation(second));
    wait_for_starts(cluster, 2);
    const std::string seen = std::to_string(second) + " while alive.2\n";
    CHECK(cluster.test().read("overlaps") == (second == 2 ? "" : seen));
    old.kill();
    young.kill();
  }
}

TEST_CASE("hosts kit: a worker does not see one that has ended or that lost power") {
  if (!can_hold_hosts()) return;
  Cluster cluster(3);
  const Program& killed = cluster[0].run({HOSTS_WORKER}, in_generation(1));
  cluster[1].run({HOSTS_WORKER}, in_generation(1));
  wait_for_starts(cluster, 2);
  killed.kill();
  cluster[1].power_off();
  cluster.wait_until("an end", [&] { return cluster[0].processes().empty(); });
  const Program& young = cluster[2].run({HOSTS_WORKER}, in_generation(2));
  wait_for_starts(cluster, 3);
  CHECK(cluster.test().read("overlaps").empty());
  young.kill();
}

TEST_CASE("hosts kit: a worker that is stopped is still seen") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2);
  Program& old = cluster[0].run({HOSTS_WORKER}, in_generation(1));
  wait_for_starts(cluster, 1);
  old.stop();
  const Program& young = cluster[1].run({HOSTS_WORKER}, in_generation(2));
  wait_for_starts(cluster, 2);
  CHECK(cluster.test().read("overlaps") == "2 while alive.1\n");
  old.kill();
  young.kill();
}

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
