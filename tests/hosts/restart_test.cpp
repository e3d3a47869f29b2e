// What the failure of one worker does to the workers of all nodes.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

namespace hosts {
namespace {

/// Each rank tells of its steps; in the first generation rank 3 stops doing so.
constexpr const char* hanger = R"(
import os, socket, time
control = socket.socket(fileno=int(os.environ["DDPRUN_CONTROL_FD"]))
control.sendall(b"hello 1\n")
step = 0
while not os.path.exists("finish"):
    step += 1
    time.sleep(0.05)
    if os.environ["RANK"] != "3" or os.environ["DDPRUN_GENERATION"] != "1" or step < 5:
        control.sendall(f"step {step} 50\n".encode())
)";

}  // namespace

TEST_CASE("hosts: a worker that hangs on one node makes all nodes start again") {
  if (!can_hold_hosts()) return;
  Training job(3,
               {{"nnodes", "3"}, {"max-restarts", "1"}, {"hang-timeout", "1s"}},
               {},
               {"python3", "hanger.py"});
  job.cluster().test().write("hanger.py", hanger);
  job.start_all();
  const std::string hung_on = job.generation(1, 6).at(3).host;
  const std::vector<Start> second = job.generation(2, 6);
  for (int host = 0; host < 3; ++host) {
    CHECK(count_on(job[host], second) == 2);
    CHECK(has_said(job.agent_of(host), ") hung: it told nothing for 1"));
    const bool is_there = job[host].name() == hung_on;
    CHECK(has_said(job.agent_of(host), "rank 3 hangs after step 4") == is_there);
  }
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: one worker fails and all nodes start again with one restart count") {
  if (!can_hold_hosts()) return;
  for (const int rank : {0, 5}) {
    CAPTURE(rank);
    Training job(3, {{"nnodes", "3"}, {"max-restarts", "2"}});
    job.start_all();
    const std::string master = job.generation(1, 6).front().master;
    job.fail(1, rank, 3);
    const std::vector<Start> second = job.generation(2, 6);
    CHECK(second.front().restart_count == 1);
    CHECK(second.front().master != master);
    for (int host = 0; host < 3; ++host) CHECK(count_on(job[host], second) == 2);
    job.finish();
    job.expect_end(0);
    CHECK(job.newest() == 2);
  }
}

TEST_CASE("hosts: the last failure is the status and the first cause on every node") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "3"}, {"max-restarts", "1"}});
  job.start_all();
  job.generation(1, 6);
  job.fail(1, 1, 4);
  const std::vector<Start> second = job.generation(2, 6);
  const std::string first = ") exited with 4, restart 1 of 1 follows; stopping ";
  for (int host = 0; host < 3; ++host) {
    job.wait_until("the first failure", [&] { return has_said(job.agent_of(host), first); });
  }
  job.fail(2, 3, 7);
  job.expect_end(7);
  const std::string where = " on " + second.at(3).host + ") exited with 7";
  for (int host = 0; host < 3; ++host) {
    const std::string err = job.agent_of(host).err();
    const std::string last = e2e::lines_of(err).back();
    CHECK_MESSAGE(last.find("exit status 7: rank 3 (pid ") != std::string::npos, err);
    CHECK_MESSAGE(last.find(where) != std::string::npos, err);
  }
  CHECK(job.newest() == 2);
}

TEST_CASE("hosts: a job with no restart ends everywhere with its first failure") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "2"}});
  job.start_all();
  job.generation(1, 4);
  job.fail(1, 3, 5);
  job.expect_end(5);
  CHECK(job.newest() == 1);
}

}  // namespace hosts
