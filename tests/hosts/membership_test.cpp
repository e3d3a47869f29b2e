// Nodes that come while a job runs: they join, or they wait to take somebody's place.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <signal.h>

namespace hosts {
namespace {

using std::chrono::milliseconds;

/// The first two hosts are all that the job takes; the third one comes while they train.
struct WithSpare : Training {
  explicit WithSpare(const std::string& max_restarts = "0")
      : Training(3, {{"nnodes", "2:2"}, {"spares", "1"}, {"max-restarts", max_restarts}}) {
    for (const int host : {0, 1}) start(host);
    generation(1, 4);
    start(2);
    CHECK(agent_process(2) > 0);
    CHECK(cluster().stays(2 * dead_after, [&] { return newest() == 1; }));
    CHECK(workers(2).empty());
  }

  /// That it takes the place of this host, which loses power, as quickly as promised.
  void expect_spare_for(int lost, int number) {
    const milliseconds since = now_boottime();
    (*this)[lost].power_off();
    const std::vector<Start> all = generation(number, 4);
    CHECK(count_on((*this)[2], all) == 2);
    CHECK((all.back().at - since).count() < (dead_after + formation_max).count());
    finish();
    for (const int host : {1 - lost, 2}) CHECK(agent_of(host).wait() == 0);
  }
};

/// Each rank counts steps in the file "step.RANK", from where the snapshot was. Rank 0 alone speaks
/// with ddprun, and saves only when it is asked: that takes longer than the grace of a restart.
constexpr const char* saver = R"(
import os, socket, time
rank = os.environ["RANK"]
step = int(open("snapshot").read()) if os.path.exists("snapshot") else 0
open("began." + os.environ["DDPRUN_GENERATION"] + "." + rank, "w").write(str(step))
control = socket.socket(fileno=int(os.environ["DDPRUN_CONTROL_FD"]))
if rank == "0":
    control.sendall(b"hello 1\n")
control.settimeout(0.01)
while not os.path.exists("finish"):
    step += 1
    open("step." + rank, "w").write(str(step))
    try:
        asked = control.recv(100)
    except TimeoutError:
        continue
    control.sendall(f"saving {step}\n".encode())
    time.sleep(1.5)
    open("new", "w").write(str(step))
    os.rename("new", "snapshot")
    open("asked", "a").write(asked.decode())
    control.sendall(f"saved {step}\n".encode())
)";

/// Rank 0 alone can be asked to save, and fails meanwhile, or closes its end of the socket.
constexpr const char* leaver = R"(
import os, socket, sys, time
control = socket.socket(fileno=int(os.environ["DDPRUN_CONTROL_FD"]))
if os.environ["RANK"] == "0" and os.environ["DDPRUN_GENERATION"] == "1":
    control.sendall(b"hello 1\n")
    open("speaks", "w").close()
    control.recv(100)
    if not os.path.exists("closes"):
        time.sleep(0.3)  # that long it saves, and the others have answered
        sys.exit(3)
    control.close()
while not os.path.exists("finish"):
    time.sleep(0.01)
)";

/// Two hosts run that program; the third one joins once rank 0 can be asked.
void join_leaver(Training& job, int world_size) {
  const e2e::Case& test = job.cluster().test();
  test.write("leaver.py", leaver);
  for (const int host : {0, 1}) job.start(host);
  job.generation(1, world_size);
  job.wait_until("a rank that can be asked", [&] { return test.has("speaks"); });
  job.start(2);
}

}  // namespace

TEST_CASE("hosts: workers are asked to save before a node that joins takes part") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "2:3"}, {"join-policy", "snapshot"}}, {}, {"python3", "saver.py"});
  const e2e::Case& test = job.cluster().test();
  test.write("saver.py", saver);
  for (const int host : {0, 1}) job.start(host);
  job.generation(1, 4);
  job.wait_until("a step", [&] { return test.has("step.0"); });
  job.start(2);
  CHECK(count_on(job[2], job.generation(2, 6)) == 2);
  CHECK(test.read("asked") == "save\n");
  for (int rank = 0; rank < 6; ++rank) {
    const std::string began = "began.2." + std::to_string(rank);
    job.wait_until(began, [&] { return !test.read(began).empty(); });
    CHECK(test.read(began) == test.read("snapshot"));
  }
  CHECK(has_said(job.agent_of(0), "nodes have joined: 1 of 2 workers asked to save"));
  CHECK(has_said(job.agent_of(0), "step " + test.read("snapshot") + " is saved"));
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: a worker that fails while it saves has failed, whoever joins") {
  if (!can_hold_hosts()) return;
  const Options one_worker{{"nnodes", "2:3"},
                           {"join-policy", "snapshot"},
                           {"nproc-per-node", "1"},
                           {"max-restarts", "0"}};
  Training job(3, one_worker, {}, {"python3", "leaver.py"});
  join_leaver(job, 2);
  job.expect_end(3);
  CHECK(job.newest() == 1);
}

TEST_CASE("hosts: a worker that closes its end when it is asked to save is not waited for") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "2:3"}, {"join-policy", "snapshot"}}, {}, {"python3", "leaver.py"});
  job.cluster().test().write("closes", "");
  join_leaver(job, 4);
  CHECK(count_on(job[2], job.generation(2, 6)) == 2);
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: workers that cannot be asked to save are not waited for") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "2:3"}, {"join-policy", "snapshot"}});
  for (const int host : {0, 1}) job.start(host);
  job.generation(1, 4);
  job.start(2);
  CHECK(count_on(job[2], job.generation(2, 6)) == 2);
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: a node that joins becomes part of the next generation") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "2:3"}});
  for (const int host : {0, 1}) job.start(host);
  CHECK(job.generation(1, 4).front().restart_count == 0);
  job.start(2);
  const std::vector<Start> second = job.generation(2, 6);
  CHECK(count_on(job[2], second) == 2);
  CHECK(second.front().restart_count == 1);
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: where the endpoint's host is gone a new node joins at another door") {
  if (!can_hold_hosts()) return;
  const std::string doors = std::string("n0:") + rendezvous_port + ",n1,n2";
  Training job(4, {{"nnodes", "2:4"}, {"rdzv-endpoint", doors}, {"max-restarts", "0"}});
  for (const int host : {0, 1, 2}) job.start(host);
  job.generation(1, 6);
  job[0].power_off();
  job.generation(2, 4);
  job.start(3);
  CHECK(count_on(job[3], job.generation(3, 6)) == 2);
  job[2].power_off();  // and one that is started again
  job[2].power_on();
  job.start(2);
  job.wait_until("a generation with it", [&] {
    const std::vector<Start> starts = job.starts();
    return starts.back().generation > 3 && starts.back().world_size == 6;
  });
  job.finish();
  for (const int host : {1, 2, 3}) CHECK(job.agent_of(host).wait() == 0);
}

TEST_CASE("hosts: a node more than the job needs is spare and ends with the job") {
  if (!can_hold_hosts()) return;
  WithSpare job;
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: a node more than --spares allows is refused, and the job goes on") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "2:2"}});
  for (const int host : {0, 1}) job.start(host);
  job.generation(1, 4);
  job.start(2);
  CHECK(job.agent_of(2).wait() == 69);
  CHECK(job.agent_of(2).err().find("is one node too many: 2 take part, as many as --nnodes and "
                                   "--spares allow") != std::string::npos);
  CHECK(job.newest() == 1);
  job.finish();
  for (const int host : {0, 1}) CHECK(job.agent_of(host).wait() == 0);
}

TEST_CASE("hosts: a spare takes the place of a lost host") {
  if (!can_hold_hosts()) return;
  WithSpare job;
  job.expect_spare_for(1, 2);
}

TEST_CASE("hosts: a spare and one host can do without the head") {
  if (!can_hold_hosts()) return;
  WithSpare job("1");
  job.fail(1, 0, 3);
  job.generation(2, 4);  // the spare, which came late, is one of its voters
  job.expect_spare_for(0, 3);
}

TEST_CASE("hosts: where nobody can be elected the spare goes on with a head that starts again") {
  if (!can_hold_hosts()) return;
  WithSpare job;
  ::kill(job.agent_process(0), SIGKILL);
  job.start(0);
  job.wait_until("the job, founded again", [&] { return job.starts().size() == 8; });
  job.finish();
  for (const int host : {0, 1, 2}) CHECK(job.agent_of(host).wait() == 0);
}

TEST_CASE("hosts: two nodes that start again one after the other begin the job anew") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "2:2"}, {"max-restarts", "0"}, {"dead-after", "4s"}});
  const auto start = [&](int host) { job.start(host, {{"node-rank", std::to_string(host)}}); };
  for (const int host : {0, 1}) start(host);
  job.generation(1, 4);
  job[1].power_off();  // no guard says that it is gone
  job[1].power_on();
  start(1);
  CHECK(job.agent_process(1) > 0);
  CHECK(job.cluster().stays(dead_after, [&] { return job.newest() == 1; }));  // its place is taken
  ::kill(job.agent_process(0), SIGKILL);
  start(0);
  job.wait_until("the job, founded again", [&] { return job.starts().size() == 8; });
  job.finish();
  for (const int host : {0, 1}) CHECK(job.agent_of(host).wait() == 0);
}

TEST_CASE("hosts: a node that comes after a loss takes the lost one's place") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "2:2"}, {"replace-timeout", "20s"}});
  for (const int host : {0, 1}) job.start(host);
  job.generation(1, 4);
  job[1].power_off();
  CHECK(job.cluster().stays(2 * dead_after, [&] { return job.newest() == 1; }));
  CHECK(job.workers(0).empty());
  job.start(2);
  CHECK(count_on(job[2], job.generation(2, 4)) == 2);
  job.finish();
  for (const int host : {0, 2}) CHECK(job.agent_of(host).wait() == 0);
}

}  // namespace hosts
