// The end of a job is its end on every node, with one status.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <signal.h>

namespace hosts {

TEST_CASE("hosts: a signal to one ddprun ends the job on every host") {
  if (!can_hold_hosts()) return;
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const int host : {0, 2}) {
      CAPTURE(signal);
      CAPTURE(host);
      Training job(3, {{"nnodes", "3"}, {"max-restarts", "3"}});
      job.start_all();
      job.generation(1, 6);
      job.agent_of(host).send(signal);
      job.expect_end(128 + signal);
      CHECK(job.newest() == 1);
      const std::string said = fmt::format("({}); stopping 2 workers here", signal);
      for (int other = 0; other < 3; ++other) {
        const std::string err = job.agent_of(other).err();
        CHECK_MESSAGE((err.find(said) != err.npos) == (other != host), err);
      }
    }
  }
}

TEST_CASE("hosts: a signal ends a job that still waits for nodes") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "3"}});
  job.start_all();
  for (const int host : {0, 1}) CHECK(job.agent_process(host) > 0);
  job.wait_until("word of both nodes",
                 [&] { return e2e::count_of("2 of 3", job.agent_of(0).err()) > 0; });
  job.agent_of(0).send(SIGINT);
  job.expect_end(130);
}

TEST_CASE("hosts: ddprun ends with success when all workers have") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "3"}, {"max-restarts", "3"}});
  job.start_all();
  job.generation(1, 6);
  job.fail(1, 4, 0);  // one of them before the others
  CHECK(job.cluster().stays(2 * dead_after, [&] { return job.newest() == 1; }));
  job.finish();
  job.expect_end(0);
  CHECK(job.newest() == 1);
}

}  // namespace hosts
