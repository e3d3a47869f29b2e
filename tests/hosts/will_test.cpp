// Losses that no will announces although something of ddprun dies: the others wait for dead-after.
#include "tests/e2e/process_table.hpp"
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <signal.h>

#include <chrono>
#include <string>

namespace hosts {
namespace {

using std::chrono::milliseconds;

/// The first generation runs on all hosts; the last one will be lost, the others go on.
struct SilentLoss : Training {
  SilentLoss(int host_count, milliseconds patience)
      : Training(host_count,
                 {{"nnodes", std::to_string(host_count - 1) + ":" + std::to_string(host_count)},
                  {"max-restarts", "0"},
                  {"nproc-per-node", "1"},
                  {"dead-after", std::to_string(patience.count()) + "ms"}}),
        lease(patience * 7 / 8),
        others(host_count - 1) {
    start_all();
    generation(1, host_count);
  }

  Program& lost() { return agent_of(others); }
  Host& lost_host() { return (*this)[others]; }

  /// They go on since they have heard nothing for a while, as the head says.
  void expect_others_after_lease(milliseconds since) {
    for (const Start& start : generation(2, others)) CHECK(start.at - since >= lease);
    CHECK(has_said(agent_of(0), "n" + std::to_string(others) + " was lost: silent for "));
    CHECK_FALSE(has_said(agent_of(0), "its ddprun has ended"));
  }
  void expect_empty_host() {
    wait_until("an empty host", [&] { return lost_host().processes().empty(); });
  }
  void expect_success() {
    finish();
    for (int host = 0; host < others; ++host) CHECK(agent_of(host).wait() == 0);
  }

  milliseconds lease;
  int others;
};

/// Both stand still before the first of them is killed: neither can say anything.
void expect_both_killed(bool guard_first) {
  CAPTURE(guard_first);
  SilentLoss job(3, dead_after);
  const int agent = job.agent_process(2);
  const milliseconds since = now_boottime();
  stop_process(agent, job.cluster().test().deadline());
  job.lost().stop();
  if (guard_first) job.lost().kill();
  ::kill(agent, SIGKILL);
  job.lost().kill();
  job.expect_others_after_lease(since);
  job.expect_empty_host();
  job.expect_success();
}

/// A process of a worker hangs in the kernel until after the others have gone on.
void expect_stuck(bool kills_guard) {
  CAPTURE(kills_guard);
  SilentLoss job(2, milliseconds(8'000));  // longer than a guard waits for what it has killed
  Disk& disk = job.lost_host().add_disk("disk");
  const int worker = job.workers(1).front();
  const int agent = job.agent_process(1);
  disk.freeze();
  job.write_beside(1, 1, "disk/file");
  const int writer = job.child_of(worker);
  job.wait_until("a process that is stuck",
                 [&] { return e2e::file_of(writer, "stat").find(") D ") != std::string::npos; });
  const milliseconds since = now_boottime();
  ::kill(kills_guard ? job.lost().pid() : agent, SIGKILL);
  job.expect_others_after_lease(since);
  CHECK(job.lost_host().processes() == std::vector{writer});
  disk.thaw();
  job.expect_empty_host();
  job.expect_success();
}

}  // namespace

TEST_CASE("hosts: kill -9 of agent and guard ends the workers, and the others hear nothing of it") {
  if (!can_hold_hosts()) return;
  for (const bool guard_first : {false, true}) expect_both_killed(guard_first);
}

TEST_CASE("hosts: of a host with a process that SIGKILL does not end the others hear nothing") {
  if (!can_hold_hosts() || !can_have_disks()) return;
  for (const bool kills_guard : {false, true}) expect_stuck(kills_guard);
}

TEST_CASE("hosts: a host that is cut off as it leaves ends, and the others go on as by a loss") {
  if (!can_hold_hosts()) return;
  SilentLoss job(3, dead_after);
  const milliseconds since = now_boottime();
  job.lost().send(SIGTERM);
  job.lost_host().isolate();
  job.expect_others_after_lease(since);
  CHECK(job.lost().wait() == 143);
  job.expect_empty_host();
  job.expect_success();
}

}  // namespace hosts
