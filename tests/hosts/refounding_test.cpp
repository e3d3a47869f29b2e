// The head and another node are started again where they cannot hear of the job that goes on.
#include "tests/hosts/progress.hpp"
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <signal.h>

namespace hosts {
namespace {

using std::chrono::milliseconds;

/// Four hosts, of which two are enough, fall into halves: the first two are started again behind
/// the partition, the other two go on. Workers hold no connections.
struct Halved : Training {
  explicit Halved(const std::string& claim_dir)
      : Training(4, {{"nnodes", "2:4"}, {"nproc-per-node", "1"}, {"claim-dir", claim_dir}}) {
    start_all();
    generation(1, 4);
  }

  void kill_ddprun(int host) {
    ::kill(agent_of(host).pid(), SIGKILL);
    wait_until("an empty host", [&] { return (*this)[host].processes().empty(); });
  }

  void divide() {
    for (const int one : {0, 1}) {
      for (const int other : {2, 3}) {
        cluster().cut((*this)[one], (*this)[other]);
        cluster().cut((*this)[other], (*this)[one]);
      }
    }
  }

  void wait_for_workers_on(const std::set<int>& hosts) {
    wait_until("a generation of some hosts", [&] { return newest_of(*this).hosts == hosts; });
  }

  /// Starts the first two again, and gives them the time that it takes to found a job.
  void start_apart() {
    for (const int host : {0, 1}) start(host);
    const milliseconds founding_max = 2 * dead_after + milliseconds(4000);
    cluster().stays(founding_max, [&] { return newest_of(*this).hosts != std::set{0, 1}; });
  }

  void heal_and_wait_for_all() {
    const Nanoseconds healing = boottime();  // they may meet before all links are back
    cluster().heal();
    wait_until("one generation of all four", [&] {
      const Newest newest = newest_of(*this);
      return newest.begun > healing && newest.is_alone && newest.hosts == std::set{0, 1, 2, 3};
    });
  }

  /// Nothing was founded behind the partition, and each generation begins after the end of all
  /// others.
  void expect_one_job_after_healing() {
    CHECK(cluster().watch().take_overlaps().empty());
    heal_and_wait_for_all();
    expect_success();
  }

  void expect_success() {
    finish();
    for (const int host : {0, 1, 2, 3}) CHECK(agent_of(host).wait() == 0);
  }
};

}  // namespace

TEST_CASE("hosts: two that are started again behind a partition end up in the job that lives") {
  if (!can_hold_hosts()) return;
  Halved job("none");
  job.kill_ddprun(0);  // one after the other, or those who are left would be no majority
  job.wait_for_workers_on({1, 2, 3});
  job.kill_ddprun(1);
  job.wait_for_workers_on({2, 3});
  job.divide();
  job.start_apart();
  job.expect_one_job_after_healing();
}

TEST_CASE("hosts: of two jobs that a person has risked the later one stands when they meet") {
  if (!can_hold_hosts()) return;
  Halved job("none");
  job.kill_ddprun(0);
  job.wait_for_workers_on({1, 2, 3});
  job.kill_ddprun(1);
  job.wait_for_workers_on({2, 3});
  job.divide();
  for (const int host : {0, 1}) job.start(host, {{"risk-two-jobs", ""}});
  job.wait_for_workers_on({0, 1});
  CHECK_FALSE(job.cluster().watch().take_overlaps().empty());  // as was risked
  job.heal_and_wait_for_all();
  (void)job.cluster().watch().take_overlaps();  // until they met
  CHECK_FALSE(has_said(job.agent_of(0), "no longer coordinates the job"));
  CHECK(has_said(job.agent_of(0), " leads; if it is lost, 3 voters"));
  job.expect_success();
}

TEST_CASE("hosts: by claims two that are started again behind a partition end up in the same job") {
  if (!can_hold_hosts()) return;
  Halved job("shared");
  job.divide();
  for (const int host : {0, 1}) job.kill_ddprun(host);
  job.wait_for_workers_on({2, 3});
  job.start_apart();
  job.expect_one_job_after_healing();
}

}  // namespace hosts
