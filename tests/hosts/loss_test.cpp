// What is lost without a word: hosts, cables, one direction, agents, a disk; and what survives it.
#include "tests/e2e/process_table.hpp"
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <signal.h>

#include <algorithm>

namespace hosts {
namespace {

using std::chrono::milliseconds;

/// Three hosts of which two are enough, with all their workers.
struct ThreeHosts : Training {
  explicit ThreeHosts(const std::string& max_restarts = "0")
      : Training(3, {{"nnodes", "2:3"}, {"max-restarts", max_restarts}}) {
    start_all();
    generation(1, 6);
  }

  /// Waits for generation 2 on the first two hosts; they must be as quick as promised.
  void expect_survivors(milliseconds since) {
    const std::vector<Start> second = generation(2, 4);
    CHECK(count_on((*this)[2], second) == 0);
    for (const Start& start : second) {
      CHECK((start.at - since).count() < (dead_after + formation_max).count());
    }
  }
};

/// Three hosts whose silence is believed only after minutes: what goes on sooner has been told.
struct ThreePatientHosts : Training {
  ThreePatientHosts()
      : Training(3, {{"nnodes", "2:3"}, {"max-restarts", "0"}, {"dead-after", "240s"}}) {
    start_all();
    generation(1, 6);
  }

  void expect_survivors() {
    CHECK(count_on((*this)[2], generation(2, 4)) == 0);
    finish();
    for (const int host : {0, 1}) CHECK(agent_of(host).wait() == 0);
  }
};

/// That neither the head nor another host is given up for an outage of that length.
void expect_bridged(milliseconds outage, int hosts) {
  CAPTURE(hosts);
  for (const int isolated : {0, 1}) {
    CAPTURE(isolated);
    Training job(hosts, {{"nnodes", "1:" + std::to_string(hosts)}, {"dead-after", "4s"}});
    job.start_all();
    job.generation(1, 2 * hosts);
    const auto only_first = [&] { return job.newest() == 1; };
    job[isolated].isolate();
    CHECK(job.cluster().stays(outage, only_first));
    job[isolated].rejoin();
    CHECK_MESSAGE(job.cluster().stays(milliseconds(4500), only_first), job.cluster().seen());
    for (int host = 0; host < hosts; ++host) CHECK(job.workers(host).size() == 2);
    job.finish();
    job.expect_end(0);
  }
}

}  // namespace

TEST_CASE("hosts: a host that lost power is replaced by what is left within seconds") {
  if (!can_hold_hosts()) return;
  ThreeHosts job;
  const milliseconds lost = now_boottime();
  job[2].power_off();
  job.expect_survivors(lost);
  job[2].power_on();
  CHECK(job.cluster().stays(dead_after, [&] { return job[2].processes().empty(); }));
  CHECK(job.newest() == 2);
  job.finish();
  for (const int host : {0, 1}) CHECK(job.agent_of(host).wait() == 0);
}

TEST_CASE("hosts: a host that has power again joins by the same command") {
  if (!can_hold_hosts()) return;
  ThreeHosts job;
  job[2].power_off();
  job.generation(2, 4);
  job[2].power_on();
  job.start(2);
  CHECK(count_on(job[2], job.generation(3, 6)) == 2);
  job.finish();
  for (const int host : {0, 1, 2}) CHECK(job.agent_of(host).wait() == 0);
}

TEST_CASE("hosts: a lost host costs no restart of the budget") {
  if (!can_hold_hosts()) return;
  ThreeHosts job("1");
  job[2].power_off();
  job.generation(2, 4);
  job.fail(2, 0, 3);
  CHECK(job.generation(3, 4).front().restart_count == 2);
  job.finish();
  for (const int host : {0, 1}) CHECK(job.agent_of(host).wait() == 0);
}

TEST_CASE("hosts: workers of an unplugged host die before the others go on") {
  if (!can_hold_hosts()) return;
  ThreeHosts job;
  const milliseconds lost = now_boottime();
  job[2].unplug();
  job.expect_survivors(lost);
  CHECK(job.workers(2).empty());
  job[2].plug();
  CHECK(count_on(job[2], job.generation(3, 6)) == 2);
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: workers of a stopped agent die before the others go on") {
  if (!can_hold_hosts()) return;
  ThreeHosts job;
  const int agent = job.agent_process(2);
  const milliseconds lost = now_boottime();
  stop_process(agent, job.cluster().test().deadline());
  job.expect_survivors(lost);
  CHECK(job.workers(2).empty());
  kill(agent, SIGCONT);
  CHECK(count_on(job[2], job.generation(3, 6)) == 2);
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: a short outage restarts nothing with the default patience") {
  if (!can_hold_hosts()) return;
  // The old connections repeat what they have at 1.4 s and 3 s, which is too late.
  for (const int hosts : {2, 3}) expect_bridged(milliseconds(2500), hosts);
}

TEST_CASE("hosts: a host that is not heard is lost although it hears") {
  if (!can_hold_hosts()) return;
  ThreeHosts job;
  const milliseconds lost = now_boottime();
  job.cluster().cut(job[2], job[0]);
  job.expect_survivors(lost);
  CHECK(job.workers(2).empty());
  job.cluster().heal();
  CHECK(count_on(job[2], job.generation(3, 6)) == 2);
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: a host that does not hear is lost although it is heard") {
  if (!can_hold_hosts()) return;
  ThreeHosts job;
  job.cluster().cut(job[0], job[2]);
  job.wait_until("a generation of the others", [&] {
    const std::vector<Start> all = job.starts();
    const int newest = job.newest();
    return newest > 1 && std::ranges::count(all, newest, &Start::generation) == 4;
  });
  CHECK(job.workers(2).empty());
  const int without = job.newest();
  job.cluster().heal();
  CHECK(count_on(job[2], job.generation(without + 1, 6)) == 2);
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: two hosts that do not hear each other are none of the head's business") {
  if (!can_hold_hosts()) return;
  ThreeHosts job;
  job.cluster().cut(job[1], job[2]);
  job.cluster().cut(job[2], job[1]);
  CHECK(job.cluster().stays(2 * dead_after, [&] { return job.newest() == 1; }));
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: kill -9 of an agent ends its workers, and by its guard's word nobody waits") {
  if (!can_hold_hosts()) return;
  ThreePatientHosts job;
  kill(job.agent_process(2), SIGKILL);
  CHECK(job.agent_of(2).wait() == 70);
  CHECK(job[2].processes().empty());
  job.expect_survivors();
}

TEST_CASE("hosts: kill -9 of a guard ends its workers, and by the agent's word nobody waits") {
  if (!can_hold_hosts()) return;
  ThreePatientHosts job;
  job.agent_of(2).kill();
  job.wait_until("an empty host", [&] { return job[2].processes().empty(); });
  job.expect_survivors();
}

TEST_CASE("hosts: a guard that cannot reach the coordinator is no news to it") {
  if (!can_hold_hosts()) return;
  ThreeHosts job;
  const milliseconds lost = now_boottime();
  const int agent = job.agent_process(2);
  job[2].isolate();
  kill(agent, SIGKILL);
  CHECK(job.agent_of(2).wait() == 70);
  CHECK(job[2].processes().empty());
  job.expect_survivors(lost);
  job.finish();
  for (const int host : {0, 1}) CHECK(job.agent_of(host).wait() == 0);
}

TEST_CASE("hosts: a job with too few hosts left ends with status 75 after its patience") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "2"}});
  job.start_all();
  job.generation(1, 4);
  job[1].power_off();
  CHECK(job.agent_of(0).wait() == 75);
  CHECK(job.newest() == 1);
}

namespace {

/// Two hosts, of which this one's logs are on a disk that hangs from now on.
struct HangingLogs : Training {
  Disk& disk;

  explicit HangingLogs(int host)
      : Training(
            2,
            {{"nnodes", "1:2"}, {"log-dir", "logs"}, {"console", "none"}, {"max-restarts", "1"}}),
        disk((*this)[host].add_disk("logs")) {
    start_all();
    const std::vector<Start> first = generation(1, 4);
    disk.freeze();
    const auto there = std::ranges::find(first, (*this)[host].name(), &Start::host);
    REQUIRE(there != first.end());
    say(1, there->rank, 100'000);  // more than any buffer on the way holds
  }

  void expect_only(int number) {
    CHECK(cluster().stays(3 * dead_after, [&] { return newest() == number; }));
  }
  void expect_success() {
    disk.thaw();
    finish();
    expect_end(0);
  }
};

}  // namespace

TEST_CASE("hosts: a disk for logs that hangs costs no lease") {
  if (!can_hold_hosts() || !can_have_disks()) return;
  for (const int host : {0, 1}) {
    CAPTURE(host);
    HangingLogs job(host);
    job.expect_only(1);
    job.expect_success();
  }
}

TEST_CASE("hosts: a disk for logs that hangs holds up no generation") {
  if (!can_hold_hosts() || !can_have_disks()) return;
  for (const int host : {0, 1}) {
    CAPTURE(host);
    HangingLogs job(host);
    job.fail(1, 3 - 2 * host, 3);  // on the other host
    job.generation(2, 4);
    job.expect_only(2);
    job.expect_success();
  }
}

}  // namespace hosts
