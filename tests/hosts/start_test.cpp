// How nodes find each other, in whatever order they start.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

namespace hosts {

using std::chrono::milliseconds;

TEST_CASE("hosts: nodes find each other when the head starts first") {
  if (!can_hold_hosts()) return;
  for (const int count : {2, 4}) {
    CAPTURE(count);
    Training job(count, {{"nnodes", std::to_string(count)}});
    job.start_all();
    const std::vector<Start> first = job.generation(1, 2 * count);
    for (int host = 0; host < count; ++host) CHECK(count_on(job[host], first) == 2);
    CHECK(first.front().restart_count == 0);
    job.finish();
    job.expect_end(0);
  }
}

TEST_CASE("hosts: nodes find each other when the head starts last") {
  if (!can_hold_hosts()) return;
  for (const int count : {2, 4}) {
    CAPTURE(count);
    Training job(count, {{"nnodes", std::to_string(count)}});
    for (int host = count - 1; host > 0; --host) {
      job.start(host);
      CHECK(job.agent_process(host) > 0);
    }
    CHECK(job.cluster().stays(milliseconds(500), [&] { return job.starts().empty(); }));
    job.start(0);
    const std::vector<Start> first = job.generation(1, 2 * count);
    for (int host = 0; host < count; ++host) CHECK(count_on(job[host], first) == 2);
    job.finish();
    job.expect_end(0);
  }
}

TEST_CASE("hosts: a job whose nodes are all there waits for no last call") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "1:2"}, {"last-call", "40s"}});
  const milliseconds begin = now_boottime();
  job.start_all();
  CHECK(job.generation(1, 4).back().at < begin + milliseconds(10'000));
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: a job that could have more nodes begins with the last call") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "2:3"}, {"last-call", "2s"}});
  const milliseconds begin = now_boottime();
  job.start_all();
  CHECK(job.generation(1, 4).front().at >= begin + milliseconds(2000));
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: each node has its own number of workers") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "2"}});
  job.start(0, {{"nproc-per-node", "1"}});
  job.start(1, {{"nproc-per-node", "3"}});
  const std::vector<Start> first = job.generation(1, 4);
  CHECK(count_on(job[0], first) == 1);
  CHECK(count_on(job[1], first) == 3);
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: ranks follow the node rank where it is given") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "3"}});
  const std::vector<int> order{0, 2, 1};  // node 0 is the head
  for (int host = 0; host < 3; ++host) {
    job.start(host, {{"node-rank", std::to_string(order.at(static_cast<std::size_t>(host)))}});
  }
  for (const Start& start : job.generation(1, 6)) {
    CHECK(start.host == job[order.at(static_cast<std::size_t>(start.rank) / 2)].name());
  }
  job.finish();
  job.expect_end(0);
}

}  // namespace hosts
