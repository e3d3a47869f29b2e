// Nothing is left, whatever was killed: workers leave processes that moved to another session,
// ignore every signal and hold the workers' pipes open.
#include "tests/e2e/kit.hpp"

#include <signal.h>

namespace e2e {
namespace {

/// Two workers, each with an orphan, that then run `rest`.
Words with_orphans(const Words& options, const std::string& rest) {
  return Words{"--nproc-per-node", "2"} + options +
         shell("exec " E2E_HELPER " orphan orphan.$DDPRUN_GENERATION.$RANK /bin/sh -c '" + rest +
               "'");
}

const std::string tell_and_stay = "echo pid $$; exec sleep 60";

/// Starts it and waits until all of it is there: 2 workers and 2 orphans, guard and agent.
Job& start_all(Case& test, const Words& options = {}) {
  Job& job = test.start(with_orphans(options, tell_and_stay));
  CHECK(job.pid_of(0) > 0);
  CHECK(job.pid_of(1) > 0);
  // One that becomes another program can for a moment not be known as one of them.
  job.wait_until("6 processes", [&] { return test.living().size() == 6; });
  return job;
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e clean end: orphans are gone when a job ends with success") {
  const Job& job = run(with_orphans({}, "exit 0"));
  CHECK(job.status() == 0);
  CHECK(has("orphan.1.0"));
  CHECK(has("orphan.1.1"));
  CHECK_MESSAGE(job.left_at_end().empty(), description_of(job.left_at_end()));
}

TEST_CASE_FIXTURE(Case, "e2e clean end: orphans are gone when a job ends with a failure") {
  const Job& job = run(with_orphans({}, "[ $RANK = 0 ] && exit 3; exec sleep 60"));
  CHECK(job.status() == 3);
  CHECK_MESSAGE(job.left_at_end().empty(), description_of(job.left_at_end()));
}

TEST_CASE_FIXTURE(Case, "e2e clean end: kill -9 of one worker") {
  Job& job = start_all(*this);
  kill(job.pid_of(1), SIGKILL);
  CHECK(job.wait() == 137);
  CHECK_MESSAGE(job.left_at_end().empty(), description_of(job.left_at_end()));
  CHECK(last_line(job.err) == "exit status 137: rank 1 (pid N on HOST) was killed by SIGKILL (9)");
  CHECK(count_of("  hint: by another process, or by the kernel when memory ran out", job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e clean end: kill -9 of all workers") {
  Job& job = start_all(*this);
  for (const int rank : {0, 1}) kill(job.pid_of(rank), SIGKILL);
  CHECK(job.wait() == 137);
  CHECK_MESSAGE(job.left_at_end().empty(), description_of(job.left_at_end()));
}

TEST_CASE_FIXTURE(Case, "e2e clean end: kill -9 of the outer process") {
  Job& job = start_all(*this);
  job.send(SIGKILL);
  CHECK(job.wait() == 137);
  CHECK(all_gone_within_a_second());
}

TEST_CASE_FIXTURE(Case,
                  "e2e clean end: kill -9 of the outer process while workers use their grace") {
  Job& job = start(with_orphans({"--grace", "1h"},
                                "trap \"echo pid \\$\\$\" TERM; : > up.$RANK; while :; do sleep "
                                "0.02; done"));
  job.wait_for_file("up.0");
  job.wait_for_file("up.1");
  job.send(SIGTERM);
  CHECK(job.pid_of(0) > 0);
  job.send(SIGKILL);
  CHECK(job.wait() == 137);
  CHECK(all_gone_within_a_second());
}

TEST_CASE_FIXTURE(Case, "e2e clean end: kill -9 of the inner process is said and has status 70") {
  Job& job = start_all(*this);
  const int agent = job.agent();
  kill(agent, SIGKILL);
  CHECK(job.wait() == 70);
  CHECK_MESSAGE(job.left_at_end().empty(), description_of(job.left_at_end()));
  CHECK(lines_of(job.err).back() == "ddprun: the agent process " + std::to_string(agent) +
                                        " was killed by SIGKILL (9); all workers were killed");
}

TEST_CASE_FIXTURE(Case, "e2e clean end: kill -9 of the inner process after restarts") {
  Job& job = start(with_orphans({"--max-restarts", "1"},
                                "[ $DDPRUN_GENERATION = 1 ] && exit 3; " + tell_and_stay));
  CHECK(job.pid_of(0) > 0);
  CHECK(job.pid_of(1) > 0);
  kill(job.agent(), SIGKILL);
  CHECK(job.wait() == 70);
  CHECK_MESSAGE(job.left_at_end().empty(), description_of(job.left_at_end()));
}

TEST_CASE_FIXTURE(Case, "e2e clean end: kill -9 of the outer process after restarts") {
  Job& job = start(with_orphans({"--max-restarts", "1"},
                                "[ $DDPRUN_GENERATION = 1 ] && exit 3; " + tell_and_stay));
  CHECK(job.pid_of(0) > 0);
  CHECK(job.pid_of(1) > 0);
  job.send(SIGKILL);
  CHECK(job.wait() == 137);
  CHECK(all_gone_within_a_second());
}

TEST_CASE_FIXTURE(Case, "e2e clean end: kill -9 of the outer process in the first moments") {
  for (int i = 0; i < 10; ++i) {
    CAPTURE(i);
    Job& job = start({"--nproc-per-node", "4", "sleep", "60"});
    CHECK(job.agent() > 0);
    job.send(SIGKILL);
    CHECK(job.wait() == 137);
    CHECK(all_gone_within_a_second());
  }
}

TEST_CASE_FIXTURE(Case, "e2e clean end: a stop takes the orphans along") {
  Job& job = start_all(*this);
  job.send(SIGTERM);
  CHECK(job.wait() == 143);
  CHECK_MESSAGE(job.left_at_end().empty(), description_of(job.left_at_end()));
}

TEST_CASE_FIXTURE(Case, "e2e clean end: a worker that forks without end is stopped") {
  Job& job = start({"/bin/sh", "-c", "echo pid $$; while :; do (setsid sleep 60 &); done"});
  CHECK(job.pid_of(0) > 0);
  job.wait_until("some children", [&] { return living().size() > 20; });
  kill(job.pid_of(0), SIGTERM);
  job.send(SIGTERM);
  CHECK(job.wait() == 143);
  CHECK_MESSAGE(job.left_at_end().empty(), description_of(job.left_at_end()));
}

}  // namespace e2e
