// Hosts that leave the job by a signal, which goes on, and signals to all of them.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <signal.h>

#include <string>
#include <utility>
#include <vector>

namespace hosts {
namespace {

using std::chrono::milliseconds;

/// Three hosts of which two are enough, with all their workers. Silence is believed only after
/// minutes, and no failure is forgiven.
struct LeavingHosts : Training {
  explicit LeavingHosts(Options more) : Training(3, all_options(std::move(more))) {
    for (const int host : {0, 1, 2}) start_at_place(host);
    generation(1, 6);
  }

  /// Of two with one rank the second waits until the first is gone for certain.
  void start_at_place(int host) { start(host, {{"node-rank", std::to_string(host)}}); }

  static Options all_options(Options more) {
    more.merge(Options{{"nnodes", "2:3"},
                       {"max-restarts", "0"},
                       {"dead-after", "240s"},
                       {"last-call", "15s"}});  // over as soon as all have joined
    return more;
  }

  /// The third host has left, and its place is free.
  void expect_departure() {
    CHECK(agent_of(2).wait() == 143);
    CHECK(has_said(agent_of(2), "the job goes on without this node"));
    CHECK(count_on((*this)[2], generation(2, 4)) == 0);
    start_at_place(2);
    CHECK(count_on((*this)[2], generation(3, 6)) == 2);
    finish();
    for (const int host : {0, 1, 2}) CHECK(agent_of(host).wait() == 0);
  }

  /// The signals come one after the other, all within a second; the job ends as by one.
  void expect_one_end(milliseconds apart, const std::vector<int>& order) {
    for (const int host : order) {
      agent_of(host).send(SIGTERM);
      CHECK(cluster().stays(apart, [&] { return newest() == 1; }));
    }
    expect_end(143);
    CHECK(newest() == 1);
  }
};

}  // namespace

TEST_CASE("hosts: a host that leaves by a signal ends alone, and its place is free at once") {
  if (!can_hold_hosts()) return;
  LeavingHosts job(Options{{"on-signal", "TERM=leave"}});
  const milliseconds told = now_boottime();
  job.agent_of(2).send(SIGTERM);
  for (const Start& start : job.generation(2, 4)) CHECK((start.at - told).count() < 1'000);
  job.expect_departure();
}

TEST_CASE("hosts: a host that gets SIGTERM leaves, once the others had a second to get it") {
  if (!can_hold_hosts()) return;
  LeavingHosts job(Options{});
  const milliseconds told = now_boottime();
  job.agent_of(2).send(SIGTERM);
  for (const Start& start : job.generation(2, 4)) CHECK((start.at - told).count() >= 1'000);
  job.expect_departure();
}

TEST_CASE("hosts: SIGTERM to a host and its workers is no failure") {
  if (!can_hold_hosts()) return;
  LeavingHosts job(Options{});
  for (const int worker : job.workers(2)) kill(worker, SIGTERM);
  job.agent_of(2).send(SIGTERM);
  job.expect_departure();
}

TEST_CASE("hosts: a spare takes the place of a host that gets SIGTERM, by one restart") {
  if (!can_hold_hosts()) return;
  for (const int leaver : {1, 0}) {
    CAPTURE(leaver);
    Training job(3, {{"nnodes", "2"}, {"spares", "1"}, {"max-restarts", "0"}});
    for (const int host : {0, 1}) job.start(host);
    job.generation(1, 4);
    job.start(2);
    job.wait_until("a spare", [&] { return has_said(job.agent_of(2), "waiting 3 s"); });
    job.agent_of(leaver).send(SIGTERM);
    CHECK(job.agent_of(leaver).wait() == 143);
    CHECK(count_on(job[2], job.generation(2, 4)) == 2);
    job.finish();
    for (const int host : {1 - leaver, 2}) CHECK(job.agent_of(host).wait() == 0);
    CHECK(job.newest() == 2);
  }
}

TEST_CASE("hosts: a newcomer takes the place of a host that gets SIGTERM, by one restart") {
  if (!can_hold_hosts()) return;
  for (const int leaver : {2, 0}) {
    CAPTURE(leaver);
    Training job(4, LeavingHosts::all_options({}));
    for (const int host : {0, 1, 2}) job.start(host);
    job.generation(1, 6);
    job.agent_of(leaver).send(SIGTERM);
    job.start(3);
    CHECK(job.agent_of(leaver).wait() == 143);
    CHECK(count_on(job[3], job.generation(2, 6)) == 2);
    job.finish();
    for (const int host : {2 - leaver, 1, 3}) CHECK(job.agent_of(host).wait() == 0);
    CHECK(job.newest() == 2);
  }
}

/// As Kubernetes ends a pod: SIGTERM to its first process, and SIGKILL to all of it later.
TEST_CASE("hosts: a container that gets SIGTERM leaves the job, one that is killed is lost") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "2:3"}, {"max-restarts", "0"}, {"last-call", "30s"}});
  for (const int host : {0, 1}) job.start(host);
  job.start_in_container(2);
  job.generation(1, 6);
  ::kill(job.child_of(job.agent_of(2).pid()), SIGTERM);
  CHECK(job.agent_of(2).wait() == 143);
  job.generation(2, 4);
  job.start_in_container(2);
  job.generation(3, 6);
  ::kill(job.child_of(job.agent_of(2).pid()), SIGKILL);
  CHECK(job.agent_of(2).wait() != 0);
  job.generation(4, 4);
  CHECK(has_said(job.agent_of(1), "generation 4 (n2 was lost: silent for "));
  job.finish();
  for (const int host : {0, 1}) CHECK(job.agent_of(host).wait() == 0);
}

TEST_CASE("hosts: SIGTERM to all hosts within a second ends the job once") {
  if (!can_hold_hosts()) return;
  for (const milliseconds apart : {milliseconds(50), milliseconds(300)}) {
    for (const std::vector<int>& order : {std::vector{1, 2, 0}, std::vector{0, 1, 2}}) {
      CAPTURE(apart.count());
      CAPTURE(order.front());
      LeavingHosts job(Options{});
      job.expect_one_end(apart, order);
    }
  }
}

TEST_CASE("hosts: by TERM=stop SIGTERM to one host ends the job") {
  if (!can_hold_hosts()) return;
  LeavingHosts job(Options{{"on-signal", "TERM=stop"}});
  job.agent_of(2).send(SIGTERM);
  job.expect_end(143);
  CHECK(job.newest() == 1);
}

TEST_CASE("hosts: what ends a job does so by a signal to one host, though the others are enough") {
  if (!can_hold_hosts()) return;
  struct End {
    Options options;
    int signal;
    int status;
  };
  for (const End& end :
       {End{{{"on-signal", "TERM=snapshot-exit"}}, SIGTERM, 75}, End{{}, SIGINT, 130}}) {
    CAPTURE(end.signal);
    LeavingHosts job(end.options);
    job.agent_of(2).send(end.signal);
    job.expect_end(end.status);
    CHECK(job.newest() == 1);
  }
}

TEST_CASE("hosts: ctrl-C on one host ends a job that another one is about to leave") {
  if (!can_hold_hosts()) return;
  LeavingHosts job(Options{});
  job.agent_of(2).send(SIGTERM);
  job.agent_of(1).send(SIGINT);
  job.expect_end(130);
  CHECK(job.newest() == 1);
}

TEST_CASE("hosts: hosts that are all told to leave end the job") {
  if (!can_hold_hosts()) return;
  LeavingHosts job(Options{{"on-signal", "TERM=leave"}});
  for (const int host : {2, 1, 0}) job.agent_of(host).send(SIGTERM);
  job.expect_end(143);
}

TEST_CASE("hosts: the head's host leaves, and another one coordinates without a loss") {
  if (!can_hold_hosts()) return;
  for (const Options& electing : {Options{}, Options{{"claim-dir", "claims"}}}) {
    CAPTURE(electing.size());
    LeavingHosts job(electing);
    job.agent_of(0).send(SIGTERM);
    CHECK(job.agent_of(0).wait() == 143);
    CHECK(has_said(job.agent_of(0), "n0 leaves the job, and lets another node coordinate it"));
    CHECK(count_on(job[0], job.generation(2, 4)) == 0);
    CHECK(has_said(job.agent_of(2), "generation 2 (head n0 left)"));
    job.finish();
    for (const int host : {1, 2}) CHECK(job.agent_of(host).wait() == 0);
  }
}

TEST_CASE("hosts: of two hosts the head's leaves, since it can still vote") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "1:2"}, {"max-restarts", "0"}, {"dead-after", "240s"}});
  job.start_all();
  job.generation(1, 4);
  job.agent_of(0).send(SIGTERM);
  CHECK(job.agent_of(0).wait() == 143);
  CHECK(count_on(job[1], job.generation(2, 2)) == 2);
  job.finish();
  CHECK(job.agent_of(1).wait() == 0);
}

}  // namespace hosts
