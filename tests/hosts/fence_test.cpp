// All processes of ddprun on a host stand still at once, and its workers, which hold no connection
// to each other, do not.
#include "tests/e2e/process_table.hpp"
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace hosts {
namespace {

using std::chrono::milliseconds;

/// Lengths of time that a busy machine does not confuse.
const Options slow_loss{{"nnodes", "3:4"}, {"max-restarts", "0"}, {"dead-after", "4s"}};

/// Returns when all these have ended, with the time.
milliseconds end_of(const std::vector<int>& pids) {
  for (const int pid : pids) {
    // NOLINTNEXTLINE(google-runtime-int): what syscall() returns
    const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    pollfd ended{process.get(), POLLIN, 0};
    if (process.is_open()) REQUIRE(::poll(&ended, 1, 20'000) == 1);
  }
  return now_boottime();
}

/// The guard first, as whoever stops them by name would.
std::vector<int> stop_ddprun(Training& job, int host, std::size_t process_count) {
  std::vector<int> all{job.agent_of(host).pid()};
  for (const int child : e2e::children_of(all.front())) all.push_back(child);
  REQUIRE(all.size() == 3);
  all.resize(process_count);
  for (const int pid : all) stop_process(pid, job.cluster().test().deadline());
  return all;
}

/// The host's workers die before others take their places; the host comes back afterwards.
void expect_fenced(std::size_t stopped_count) {
  Training job(4, slow_loss);
  job.start_all();
  job.generation(1, 8);
  const std::vector<int> workers = job.workers(3);
  REQUIRE(workers.size() == 2);
  const std::vector<int> stopped = stop_ddprun(job, 3, stopped_count);
  const milliseconds dead = end_of(workers);
  const std::vector<Start> next = job.generation(2, 6);
  CHECK(dead < std::ranges::min(next, {}, &Start::at).at);
  for (const int pid : stopped) ::kill(pid, SIGCONT);
  CHECK(count_on(job[3], job.generation(3, 8)) == 2);
  job.finish();
  job.expect_end(0);
}

}  // namespace

TEST_CASE(
    "hosts: workers of a host whose agent and guard are stopped die before the others go on") {
  if (!can_hold_hosts()) return;
  expect_fenced(2);
}

TEST_CASE("hosts: workers of a host where all of ddprun is stopped die before the others go on") {
  if (!can_hold_hosts()) return;
  expect_fenced(3);
}

}  // namespace hosts
