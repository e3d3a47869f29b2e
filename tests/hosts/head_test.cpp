// The host that coordinates is lost, cut off or held up: the others elect another.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <signal.h>

namespace hosts {
namespace {

using std::chrono::milliseconds;

/// Where the head is the first of the hosts, and two are enough.
struct Elective : Training {
  explicit Elective(int hosts)
      : Training(hosts, {{"nnodes", "2:" + std::to_string(hosts)}, {"max-restarts", "0"}}) {
    start_all();
    generation(1, 2 * hosts);
  }

  /// All hosts but the first run generation 2, as quickly as promised.
  void expect_elected(milliseconds since, int hosts) {
    const std::vector<Start> second = generation(2, 2 * hosts);
    CHECK(count_on((*this)[0], second) == 0);
    for (const Start& start : second) {
      CHECK((start.at - since).count() < (dead_after + formation_max).count());
    }
  }

  void expect_success_on(int first, int last) {
    finish();
    for (int host = first; host <= last; ++host) CHECK(agent_of(host).wait() == 0);
  }
};

}  // namespace

TEST_CASE("hosts: the head loses power, and the others go on within seconds") {
  if (!can_hold_hosts()) return;
  Elective job(3);
  const milliseconds lost = now_boottime();
  job[0].power_off();
  job.expect_elected(lost, 2);
  job.expect_success_on(1, 2);
}

TEST_CASE("hosts: one head after the other loses power") {
  if (!can_hold_hosts()) return;
  Elective job(4);
  const milliseconds lost = now_boottime();
  job[0].power_off();
  job.expect_elected(lost, 3);
  job[1].power_off();
  const std::vector<Start> third = job.generation(3, 4);
  CHECK(count_on(job[1], third) == 0);
  job.expect_success_on(2, 3);
}

TEST_CASE("hosts: a head that is cut off stops its workers, and takes part again later") {
  if (!can_hold_hosts()) return;
  Elective job(3);
  const milliseconds lost = now_boottime();
  job[0].unplug();
  job.wait_until("no workers on the old head", [&] { return job.workers(0).empty(); });
  job.expect_elected(lost, 2);
  job[0].plug();
  CHECK(count_on(job[0], job.generation(3, 6)) == 2);
  job.expect_success_on(0, 2);
}

TEST_CASE("hosts: a head that was held up finds another in its place") {
  if (!can_hold_hosts()) return;
  Elective job(3);
  const milliseconds lost = now_boottime();
  const int agent = job.agent_process(0);
  ::kill(agent, SIGSTOP);
  job.wait_until("no workers on the old head", [&] { return job.workers(0).empty(); });
  job.expect_elected(lost, 2);
  ::kill(agent, SIGCONT);
  CHECK(count_on(job[0], job.generation(3, 6)) == 2);
  job.expect_success_on(0, 2);
}

TEST_CASE("hosts: a head that was killed and is started again takes part in the job that lives") {
  if (!can_hold_hosts()) return;
  Elective job(3);
  const milliseconds lost = now_boottime();
  ::kill(job.agent_process(0), SIGKILL);
  job.expect_elected(lost, 2);
  job.start(0);
  CHECK(count_on(job[0], job.generation(3, 6)) == 2);
  job.expect_success_on(0, 2);
}

TEST_CASE("hosts: a head that is not heard is replaced although it hears") {
  if (!can_hold_hosts()) return;
  Elective job(3);
  const milliseconds lost = now_boottime();
  for (const int other : {1, 2}) job.cluster().cut(job[0], job[other]);
  job.expect_elected(lost, 2);
  CHECK(job.workers(0).empty());
  job.cluster().heal();
  CHECK(count_on(job[0], job.generation(3, 6)) == 2);
  job.expect_success_on(0, 2);
}

TEST_CASE("hosts: a head that does not hear is replaced although it is heard") {
  if (!can_hold_hosts()) return;
  Elective job(3);
  for (const int other : {1, 2}) job.cluster().cut(job[other], job[0]);
  const std::vector<Start> second = job.generation(2, 4);
  CHECK(count_on(job[0], second) == 0);
  CHECK(job.workers(0).empty());
  job.cluster().heal();
  CHECK(count_on(job[0], job.generation(3, 6)) == 2);
  job.expect_success_on(0, 2);
}

TEST_CASE("hosts: two hosts cannot do without the head, and say so at the start") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "2"}});
  job.start_all();
  job.generation(1, 4);
  CHECK(job.agent_of(0).err().find("its loss ends the job") != std::string::npos);
  const milliseconds lost = now_boottime();
  job[0].power_off();
  CHECK(job.agent_of(1).wait() == 75);
  CHECK(job.workers(1).empty());
  CHECK(now_boottime() - lost < milliseconds(20'000));
}

}  // namespace hosts
