// Restarts: how many, what they look like to workers, what must be gone before, how long they take.
#include "tests/e2e/kit.hpp"

#include <signal.h>

#include <algorithm>
#include <set>

namespace e2e {
namespace {

Words restarting(const char* workers, const char* restarts, const Words& program) {
  return Words{"--nproc-per-node", workers, "--max-restarts", restarts, "--restart-backoff", "0"} +
         program;
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e restart: the budget is spent and the last failure is the status") {
  const Job& job = run(restarting("2", "3", shell("exit $((10 + TORCHELASTIC_RESTART_COUNT))")));
  CHECK(job.status() == 13);
  CHECK(count_of(": generation ", job.err) == 4);
  const std::string last = last_line(job.err);
  CHECK(last.starts_with("exit status 13: rank "));
  CHECK(last.ends_with(" (pid N on HOST) exited with 13, after 3 of 3 restarts"));
}

TEST_CASE_FIXTURE(Case, "e2e restart: a job that recovers succeeds") {
  const Job& job = run(restarting("2", "3", shell("[ $DDPRUN_GENERATION = 3 ] && exit 0; exit 1")));
  CHECK(job.status() == 0);
  CHECK(count_of(": generation ", job.err) == 3);
  CHECK(count_of(": generation 3 (restart 2 of 3: rank ", job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e restart: each generation has its numbers and a store at a free port") {
  const Job& job = run(restarting(
      "2",
      "3",
      shell("echo $DDPRUN_GENERATION $TORCHELASTIC_RESTART_COUNT $TORCHELASTIC_MAX_RESTARTS "
            "$MASTER_PORT $TORCHELASTIC_RUN_ID; : > said.$DDPRUN_GENERATION.$RANK\n"
            "until [ -e said.$DDPRUN_GENERATION.0 ] && [ -e said.$DDPRUN_GENERATION.1 ]; do sleep "
            "0.01; done; exit 1")));
  CHECK(job.status() == 1);
  std::set<std::string> ports;
  std::set<std::string> ids;
  for (int generation = 1; generation <= 4; ++generation) {
    const std::string numbers = std::to_string(generation) + " " + std::to_string(generation - 1);
    Words said;
    for (const std::string& line : lines_of(job.out)) {
      const std::size_t at = line.find("] " + numbers + " 3 ");
      if (at != std::string::npos) said.push_back(line.substr(at + numbers.size() + 5));
    }
    REQUIRE(said.size() == 2);
    CHECK(said[0] == said[1]);
    ports.insert(said[0].substr(0, said[0].find(' ')));
    ids.insert(said[0].substr(said[0].find(' ')));
  }
  CHECK(ports.size() > 1);  // the kernel may choose one that was free again, but not each time
  CHECK(ids.size() == 1);
}

TEST_CASE_FIXTURE(Case, "e2e restart: nothing of a generation lives when the next one starts") {
  const Job& job = run(restarting(
      "2",
      "3",
      shell("i=1; while [ $i -lt $DDPRUN_GENERATION ]; do for r in 0 1; do\n"
            "[ -e /proc/$(cat orphan.$i.$r) ] && echo ALIVE $i.$r in $DDPRUN_GENERATION\n"
            "done; i=$((i + 1)); done\n"
            "exec " E2E_HELPER " orphan orphan.$DDPRUN_GENERATION.$RANK /bin/sh -c '"
            "until [ -e orphan.$DDPRUN_GENERATION.0 ] && [ -e orphan.$DDPRUN_GENERATION.1 ]; do "
            "sleep 0.01; done; exit 1'")));
  CHECK(job.status() == 1);
  CHECK(has("orphan.4.1"));
  CHECK_MESSAGE(job.out.empty(), job.out);
  CHECK_MESSAGE(job.left_at_end().empty(), description_of(job.left_at_end()));
}

TEST_CASE_FIXTURE(Case, "e2e restart: a worker killed from outside is started again") {
  Job& job = start(restarting(
      "2", "1", shell("[ $DDPRUN_GENERATION = 2 ] && exit 0; echo pid $$; exec sleep 60")));
  const int worker = job.pid_of(1);
  CHECK(job.pid_of(0) > 0);
  kill(worker, SIGKILL);
  CHECK(job.wait() == 0);
  const char* const first = "was killed by SIGKILL (9), restart 1 of 1 follows; stopping 1 worker";
  CHECK(count_of(first, job.err) == 1);
  CHECK(count_of("was killed by SIGKILL (9)", job.err) == 2);  // and why the next one starts
}

TEST_CASE_FIXTURE(Case, "e2e restart: one generation with many failures spends one restart") {
  const Job& job = run(restarting("8", "2", shell("exit 1")));
  CHECK(job.status() == 1);
  CHECK(count_of(": generation ", job.err) == 3);
}

TEST_CASE_FIXTURE(Case, "e2e restart: a failure that is older than the window does not count") {
  const Job& job = run(Words{"--max-restarts",
                             "1",
                             "--restart-window",
                             "300ms",
                             "--restart-backoff",
                             "0",
                             "--console",
                             "0"} +
                       shell("[ $DDPRUN_GENERATION = 4 ] && exit 0; sleep 0.4; exit 1"));
  CHECK(job.status() == 0);
  CHECK(count_of("(restart 1 of 1 in 0.3 s: rank 0 ", job.err) == 3);
}

TEST_CASE_FIXTURE(Case, "e2e restart: restarts in a row wait, and say so") {
  const Job& job =
      run(Words{"--max-restarts", "3", "--restart-backoff", "0:300ms"} + shell("exit 1"));
  CHECK(job.status() == 1);
  CHECK(count_of("waiting ", job.err) == 2);
  CHECK(count_of("waiting 0.3 s before restart 2 of 3: rank 0 ", job.err) == 1);
  CHECK(count_of("waiting 0.3 s before restart 3 of 3: rank 0 ", job.err) == 1);
  CHECK(job.lasted() >= std::chrono::milliseconds(600));
}

TEST_CASE_FIXTURE(Case, "e2e restart: asked to stop while it waits before a restart, it ends") {
  Job& job = start(Words{"--max-restarts", "3", "--restart-backoff", "1h"} + shell("exit 1"));
  job.wait_for_err("waiting 3600 s before restart 1 of 3");
  job.send(SIGTERM);
  CHECK(job.wait() == 143);
}

TEST_CASE_FIXTURE(Case, "e2e restart: without a new snapshot the third restart is the last") {
  const Words snapshot{"--snapshot", "run/snapshot.pt", "--console", "0"};
  const Job& job = run(snapshot + restarting("2", "99", shell("exit 3")));
  CHECK(job.status() == 76);
  CHECK(count_of(": generation ", job.err) == 4);
  CHECK(last_line(job.err).starts_with(
      "exit status 76: gave up: 3 restarts without progress; do not requeue: rank "));
}

TEST_CASE_FIXTURE(Case, "e2e restart: a job that saves something in each generation goes on") {
  const Words snapshot{"--snapshot", "run/snapshot.pt"};
  const Job& job =
      run(snapshot +
          restarting(
              "1",
              "99",
              shell("[ $DDPRUN_GENERATION = 7 ] && exit 0; new=snapshot.pt.$DDPRUN_GENERATION.1\n"
                    ": > run/$new; ln -sfn $new $DDPRUN_SNAPSHOT; exit 3")));
  CHECK(job.status() == 0);
  CHECK(count_of(": generation ", job.err) == 7);
}

TEST_CASE_FIXTURE(Case, "e2e restart: from a worker's exit to all next workers takes no second") {
  constexpr int restarts = 10;
  const Job& job =
      run(restarting("4", std::to_string(restarts).c_str(), helper({}, {"fail-first"})));
  REQUIRE(job.status() == 0);
  std::vector<double> times_ms;
  for (int generation = 1; generation <= restarts; ++generation) {
    const double ended = std::stod(read("exit." + std::to_string(generation)));
    double started = 0;
    for (int rank = 0; rank < 4; ++rank) {
      const std::string name = std::to_string(generation + 1) + "." + std::to_string(rank);
      started = std::max(started, std::stod(read("stamp." + name)));
    }
    times_ms.push_back((started - ended) / 1e6);
  }
  std::ranges::sort(times_ms);
  MESSAGE("restart of 4 workers, ms: min ",
          times_ms.front(),
          ", median ",
          times_ms[times_ms.size() / 2],
          ", max ",
          times_ms.back());
  CHECK(times_ms.front() > 0);
  CHECK(times_ms.back() <= 1000);
}

}  // namespace e2e
