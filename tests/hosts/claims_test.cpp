// Hosts that share a folder: whoever is left of them claims the job.
#include "tests/hosts/disk.hpp"
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <signal.h>

namespace hosts {
namespace {

using std::chrono::milliseconds;

/// A claim comes after the silence of those who are lost, and their lease.
constexpr milliseconds claiming_max{formation_max + milliseconds(500)};

/// One host is enough. The test's folder is every host's.
struct Claiming : Training {
  explicit Claiming(int hosts, const Options& more = {})
      : Training(hosts, options(hosts, more)), hosts_(hosts) {}

  void begin(const std::string& how) {
    start_all();
    generation(1, 2 * hosts_);
    wait_until(how, [&] { return has_said(agent_of(0), how); });
  }

  void expect_next(int number, int hosts, milliseconds since) {
    for (const Start& start : generation(number, 2 * hosts)) {
      CHECK((start.at - since).count() < (dead_after + claiming_max).count());
    }
  }

  void expect_success_on(const std::vector<int>& which) {
    finish();
    for (const int host : which) CHECK_MESSAGE(agent_of(host).wait() == 0, agent_of(host).err());
  }

 private:
  static Options options(int hosts, const Options& more) {
    Options all{{"nnodes", "1:" + std::to_string(hosts)},
                {"max-restarts", "0"},
                {"claim-dir", "shared"},
                {"rdzv-id", "claiming"}};
    for (const auto& [name, value] : more) all[name] = value;
    return all;
  }

  int hosts_;
};

constexpr const char* by_claims = "other voters claims the job";

}  // namespace

TEST_CASE("hosts: by claims one of two goes on when the head loses power") {
  if (!can_hold_hosts()) return;
  Claiming job(2);
  job.begin(by_claims);
  const milliseconds lost = now_boottime();
  job[0].power_off();
  job.expect_next(2, 1, lost);
  job.expect_success_on({1});
}

TEST_CASE("hosts: by claims the head goes on when the other of two loses power") {
  if (!can_hold_hosts()) return;
  Claiming job(2);
  job.begin(by_claims);
  const milliseconds lost = now_boottime();
  job[1].power_off();
  job.expect_next(2, 1, lost);
  job.expect_success_on({0});
}

TEST_CASE("hosts: by claims one host after the other may be lost, until one is left") {
  if (!can_hold_hosts()) return;
  Claiming job(3);
  job.begin(by_claims);
  milliseconds lost = now_boottime();
  job[0].power_off();
  job.expect_next(2, 2, lost);
  lost = now_boottime();
  job[1].power_off();
  job.expect_next(3, 1, lost);
  job.expect_success_on({2});
}

TEST_CASE("hosts: by claims one half of a job that is cut in two goes on") {
  if (!can_hold_hosts()) return;
  Claiming job(4);
  job.begin(by_claims);
  for (const int one : {0, 1}) {
    for (const int other : {2, 3}) {
      job.cluster().cut(job[one], job[other]);
      job.cluster().cut(job[other], job[one]);
    }
  }
  job.generation(2, 4);
  job.cluster().heal();
  job.wait_until("a generation of all four", [&] {
    const std::vector<Start> starts = job.starts();
    return starts.back().generation > 2 && starts.back().world_size == 8;
  });
  job.generation(job.newest(), 8);
  job.expect_success_on({0, 1, 2, 3});
}

TEST_CASE("hosts: by claims a head that was held up takes part again") {
  if (!can_hold_hosts()) return;
  Claiming job(2);
  job.begin(by_claims);
  const milliseconds lost = now_boottime();
  const int agent = job.agent_process(0);
  ::kill(agent, SIGSTOP);
  job.wait_until("no workers on the old head", [&] { return job.workers(0).empty(); });
  job.expect_next(2, 1, lost);
  ::kill(agent, SIGCONT);
  CHECK(count_on(job[0], job.generation(3, 4)) == 2);
  job.expect_success_on({0, 1});
}

TEST_CASE("hosts: by claims a head that is started again takes part in the job that lives") {
  if (!can_hold_hosts()) return;
  Claiming job(2);
  job.begin(by_claims);
  job[0].power_off();
  job.generation(2, 2);
  job[0].power_on();
  job.start(0);
  CHECK(count_on(job[0], job.generation(3, 4)) == 2);
  job.expect_success_on({0, 1});
}

TEST_CASE("hosts: where one has another folder, hosts vote, and say why") {
  if (!can_hold_hosts()) return;
  Claiming job(3, {{"nnodes", "2:3"}, {"last-call", "15s"}});  // over as soon as all have joined
  job.start(0);
  job.start(1);
  job.start(2, {{"claim-dir", "another"}});
  job.generation(1, 6);
  job.wait_until("why they vote", [&] { return has_said(job.agent_of(0), "n2 does not see"); });
  job[0].power_off();
  job.generation(2, 4);
  job.expect_success_on({1, 2});
}

TEST_CASE("hosts: a folder for claims that hangs keeps a job from claiming, not from starting") {
  if (!can_hold_hosts() || !can_have_disks()) return;
  Claiming job(2);
  Disk& disk = job[0].add_disk("shared");
  disk.freeze();
  job.start_all();
  job.generation(1, 4);
  job.wait_until("why they vote", [&] { return has_said(job.agent_of(0), "does not answer"); });
  disk.thaw();
  job.expect_success_on({0, 1});
}

}  // namespace hosts
