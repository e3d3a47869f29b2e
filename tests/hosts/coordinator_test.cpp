// A coordinator without workers on a host of its own: with two nodes they are three voters, and the
// job outlives the loss of any of them.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <signal.h>

namespace hosts {
namespace {

using std::chrono::milliseconds;

/// The coordinator on the first host, nodes on the other two, of which one is enough; it waits for
/// both, however late a busy machine starts one.
struct Witnessed : Training {
  Witnessed() : Training(3, {{"nnodes", "1:2"}, {"max-restarts", "1"}, {"last-call", "10s"}}) {
    start_coordinator(0);
    for (const int host : {1, 2}) start(host);
    const std::vector<Start> first = generation(1, 4);
    for (const int host : {1, 2}) CHECK(count_on((*this)[host], first) == 2);
    CHECK_FALSE(has_said(agent_of(0), "its loss ends the job"));
  }

  void expect_in_time(const std::vector<Start>& starts, milliseconds since) {
    for (const Start& start : starts) {
      CHECK((start.at - since).count() < (dead_after + formation_max).count());
    }
  }

  void expect_success_on(const std::vector<int>& which) {
    finish();
    for (const int host : which) {
      CHECK_MESSAGE(agent_of(host).wait() == 0, agent_of(host).description());
    }
  }
};

}  // namespace

TEST_CASE("hosts: the nodes outlive the loss of their coordinator's host") {
  if (!can_hold_hosts()) return;
  Witnessed job;
  const milliseconds lost = now_boottime();
  job[0].power_off();
  job.expect_in_time(job.generation(2, 4), lost);
  job.expect_success_on({1, 2});
}

TEST_CASE("hosts: a coordinator and one node outlive the loss of the other node") {
  if (!can_hold_hosts()) return;
  for (const int lost_host : {1, 2}) {
    CAPTURE(lost_host);
    Witnessed job;
    const milliseconds lost = now_boottime();
    job[lost_host].power_off();
    job.expect_in_time(job.generation(2, 2), lost);
    job.expect_success_on({0, 3 - lost_host});
  }
}

TEST_CASE("hosts: a coordinator that was cut off follows, and votes from the next generation on") {
  if (!can_hold_hosts()) return;
  Witnessed job;
  milliseconds lost = now_boottime();
  job[0].unplug();
  job.expect_in_time(job.generation(2, 4), lost);
  job.wait_until("that it steps down",
                 [&] { return has_said(job.agent_of(0), "no longer coordinates the job"); });
  job[0].plug();
  const int head = has_said(job.agent_of(1), "n1 coordinates the job from now on") ? 1 : 2;
  job.wait_until("that it follows",
                 [&] { return has_said(job.agent_of(head), "n0 is a witness"); });
  job.fail(2, 0, 7);
  job.generation(3, 4);
  lost = now_boottime();
  job[head].power_off();
  job.expect_in_time(job.generation(4, 2), lost);
  job.expect_success_on({0, 3 - head});
}

TEST_CASE("hosts: a coordinator that is started again takes part in the job that lives") {
  if (!can_hold_hosts()) return;
  Witnessed job;
  ::kill(job.agent_process(0), SIGKILL);
  job.generation(2, 4);
  job.start_coordinator(0);
  job.wait_until("that it gives way", [&] {
    return has_said(job.agent_of(0), "n0 joins the job that is already running");
  });
  CHECK(job.cluster().stays(2 * dead_after, [&] { return job.newest() == 2; }));
  job.expect_success_on({0, 1, 2});
}

TEST_CASE("hosts: a coordinator ends with the status of the job that others coordinate by then") {
  if (!can_hold_hosts()) return;
  Witnessed job;
  const int agent = job.agent_process(0);
  ::kill(agent, SIGSTOP);
  job.generation(2, 4);
  ::kill(agent, SIGCONT);
  job.wait_until("that it follows", [&] {
    return has_said(job.agent_of(1), "n0 is a witness") ||
           has_said(job.agent_of(2), "n0 is a witness");
  });
  job.fail(2, 0, 7);
  job.generation(3, 4);
  job.fail(3, 3, 8);
  for (const int host : {0, 1, 2}) CHECK(job.agent_of(host).wait() == 8);
}

}  // namespace hosts
