// Signals: who gets which, how often, and what becomes of the job.
#include "tests/e2e/kit.hpp"

#include <signal.h>

#include <cstring>

namespace e2e {
namespace {

using namespace std::chrono_literals;

const std::string stubborn = "trap '' TERM INT HUP QUIT; echo pid $$; while :; do sleep 0.05; done";

std::string short_name(int signal) {
  return sigabbrev_np(signal);
}

Words two(const Words& options, const Words& program) {
  return Words{"--nproc-per-node", "2"} + options + program;
}

/// Shorter than any sleep can be.
void spin_until(Clock::time_point moment) {
  while (Clock::now() < moment) continue;
}

void send_flood(Job& job) {
  job.wait_until("end", [&] {
    for (int sent = 0; sent < 1000; ++sent) job.send(SIGTERM);
    return job.ended();
  });
  job.wait();
}

}  // namespace

TEST_CASE_FIXTURE(
    Case, "e2e signals: each that asks to stop reaches each worker once and is the status") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    const std::string name = short_name(signal);
    CAPTURE(name);
    Job& job = start(two({"--grace", "20s"}, helper({}, {"listen"})));
    job.wait_for_out(prefix(0) + "listening\n");
    job.wait_for_out(prefix(1) + "listening\n");
    job.send(signal);
    CHECK(job.wait() == 128 + signal);
    CHECK(count_of(prefix(0) + "got " + name + "\n", job.out) == 1);
    CHECK(count_of(prefix(1) + "got " + name + "\n", job.out) == 1);
    CHECK(count_of("got ", job.out) == 2);
    const std::string number = std::to_string(signal);
    CHECK(last_line(job.err) == "exit status " + std::to_string(128 + signal) + ": stopped by SIG" +
                                    name + " (" + number + ")");
  }
}

TEST_CASE_FIXTURE(Case,
                  "e2e signals: USR1 and USR2 reach each worker once and change nothing else") {
  Job& job = start(two({}, helper({}, {"listen"})));
  job.wait_for_out(prefix(0) + "listening\n");
  job.wait_for_out(prefix(1) + "listening\n");
  for (const int signal : {SIGUSR1, SIGUSR2}) {
    job.send(signal);
    job.wait_for_out(prefix(0) + "got " + short_name(signal) + "\n");
    job.wait_for_out(prefix(1) + "got " + short_name(signal) + "\n");
  }
  job.send(SIGTERM);
  CHECK(job.wait() == 143);
  CHECK(count_of("got USR1\n", job.out) == 2);
  CHECK(count_of("got USR2\n", job.out) == 2);
  CHECK(count_of("got TERM\n", job.out) == 2);
}

TEST_CASE_FIXTURE(Case, "e2e signals: a worker that dies of a passed-on USR1 is a failure") {
  Job& job = start(shell("echo pid $$; exec sleep 60"));
  CHECK(job.pid_of(0) > 0);
  job.send(SIGUSR1);
  CHECK(job.wait() == 128 + SIGUSR1);
  CHECK(last_line(job.err) == "exit status 138: rank 0 (pid N on HOST) was killed by SIGUSR1 (10)");
}

TEST_CASE_FIXTURE(Case, "e2e signals: a worker that ignores TERM is killed after the grace") {
  Job& job = start(two({"--grace", "400ms"}, shell(stubborn)));
  CHECK(job.pid_of(0) > 0);
  CHECK(job.pid_of(1) > 0);
  const auto sent = Clock::now();
  job.send(SIGTERM);
  CHECK(job.wait() == 143);
  const auto took = Clock::now() - sent;
  CHECK(took >= 400ms);
  CHECK(took < 5s);
}

TEST_CASE_FIXTURE(Case, "e2e signals: a second INT skips the grace, one at once does not") {
  Job& job = start(two({"--grace", "1h"},
                       shell("trap 'echo first' INT; echo ready; while :; do sleep 0.02; done")));
  job.wait_until("both workers", [&] { return count_of("ready", job.out) == 2; });
  job.send(SIGINT);
  job.send(SIGINT);  // as timeout(1) does
  job.wait_until("both traps", [&] { return count_of("first", job.out) == 2; });
  CHECK(!job.ended());
  spin_until(Clock::now() + 300ms);  // what comes before 200 ms are over is the same request
  CHECK(!job.ended());
  job.send(SIGINT);
  CHECK(job.wait() == 130);
}

TEST_CASE_FIXTURE(Case,
                  "e2e signals: TERM to a worker and then to ddprun is a stop and no failure") {
  Job& job = start(two({"--max-restarts", "3"}, shell("echo pid $$; exec sleep 60")));
  const int worker = job.pid_of(1);
  CHECK(job.pid_of(0) > 0);
  kill(worker, SIGTERM);
  job.wait_until("end of rank 1", [&] { return is_gone(worker); });
  job.send(SIGTERM);
  CHECK(job.wait() == 143);
  CHECK(last_line(job.err) == "exit status 143: stopped by SIGTERM (15)");
  CHECK(count_of("generation", job.err) == 1);
}

TEST_CASE_FIXTURE(Case,
                  "e2e signals: TERM to all workers first and then to ddprun is a stop as well") {
  Job& job = start(two({"--max-restarts", "3"}, shell("echo pid $$; exec sleep 60")));
  const std::vector<int> workers{job.pid_of(0), job.pid_of(1)};
  for (const int worker : workers) kill(worker, SIGTERM);
  for (const int worker : workers) {
    job.wait_until("end of a worker", [&] { return is_gone(worker); });
  }
  job.send(SIGTERM);
  CHECK(job.wait() == 143);
  CHECK(last_line(job.err) == "exit status 143: stopped by SIGTERM (15)");
}

TEST_CASE_FIXTURE(Case, "e2e signals: TERM to a worker alone is its failure") {
  Job& job = start(shell("echo pid $$; exec sleep 60"));
  kill(job.pid_of(0), SIGTERM);
  CHECK(job.wait() == 143);
  CHECK(last_line(job.err) == "exit status 143: rank 0 (pid N on HOST) was killed by SIGTERM (15)");
}

TEST_CASE_FIXTURE(Case,
                  "e2e signals: the rest of a failed generation gets TERM and the restart-grace") {
  const std::string fail = "until [ -e go ]; do sleep 0.01; done; exit 3";
  Job& polite = start(two({"--restart-grace", "20s"},
                          shell("[ $RANK = 1 ] && exec " E2E_HELPER " listen\n" + fail)));
  polite.wait_for_out("listening");
  Job& rude = start(
      two({"--restart-grace", "300ms"}, shell("[ $RANK = 0 ] && { " + fail + "; }\n" + stubborn)));
  CHECK(rude.pid_of(1) > 0);
  write("go", "");
  CHECK(polite.wait() == 3);
  CHECK(count_of("got TERM\n", polite.out) == 1);
  CHECK(count_of("got ", polite.out) == 1);
  CHECK(rude.wait() == 3);
  CHECK(rude.lasted() >= 300ms);
  CHECK(rude.lasted() < 10s);
}

TEST_CASE_FIXTURE(Case, "e2e signals: TERM at any moment of the start ends the job with 143") {
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    Job& job = start(two({}, {"sleep", "60"}));
    spin_until(Clock::now() + i * 250us);
    job.send(SIGTERM);
    CHECK(job.wait() == 143);
    CHECK(job.left_at_end().empty());
  }
}

TEST_CASE_FIXTURE(Case,
                  "e2e signals: INT in the first moments of the agent ends the job with 130") {
  for (int i = 0; i < 10; ++i) {
    CAPTURE(i);
    Job& job = start(two({}, {"sleep", "60"}));
    CHECK(job.agent() > 0);
    job.send(SIGINT);
    CHECK(job.wait() == 130);
  }
}

TEST_CASE_FIXTURE(Case, "e2e signals: TERM while generations follow each other ends the job") {
  for (int i = 0; i < 5; ++i) {
    CAPTURE(i);
    Job& job = start(two({"--max-restarts", "100000", "--restart-backoff", "0"}, shell("exit 3")));
    job.wait_for_err("generation " + std::to_string(3 + i) + " ");
    spin_until(Clock::now() + i * 700us);
    job.send(SIGTERM);
    CHECK(job.wait() == 143);
    CHECK(last_line(job.err) == "exit status 143: stopped by SIGTERM (15)");
  }
}

TEST_CASE_FIXTURE(ManyStartsCase, "e2e signals: a flood of TERM ends a job with 143") {
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    Job& job = start(two({}, {"sleep", "60"}));
    send_flood(job);
    CHECK_MESSAGE(job.status() == 143, job.err);
  }
}

TEST_CASE_FIXTURE(ManyStartsCase,
                  "e2e signals: a flood of TERM does not delay an end that has come") {
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    Job& job = start(two({}, {"true"}));
    job.wait_until("first line", [&] { return !job.err.empty() || job.ended(); });
    send_flood(job);
    CHECK_MESSAGE((job.status() == 143 || job.status() == 0), job.err);
  }
}

TEST_CASE_FIXTURE(Case, "e2e signals: TERM during the restart-grace replaces the restart") {
  Job& job = start(two({"--max-restarts", "5", "--restart-grace", "600ms"},
                       shell("[ $RANK = 1 ] && { " + stubborn + "; }\n" +
                             "until [ -e go ]; do sleep 0.01; done; echo pid $$; exit 3")));
  CHECK(job.pid_of(1) > 0);
  write("go", "");
  const int failed = job.pid_of(0);
  job.wait_until("end of rank 0", [&] { return is_gone(failed); });
  job.send(SIGTERM);
  CHECK(job.wait() == 143);
  CHECK(count_of("generation", job.err) == 1);
}

TEST_CASE_FIXTURE(
    Case, "e2e signals: one that was ignored at the start stays ignored as nohup wants it") {
  Job& job = start(
      Setup{.arguments = two({}, helper({}, {"listen"})), .ignored_signals = {SIGHUP, SIGINT}});
  job.wait_for_out(prefix(0) + "listening\n");
  job.wait_for_out(prefix(1) + "listening\n");
  job.send(SIGHUP);
  job.send(SIGINT);
  job.send(SIGUSR1);  // forwarded: once it is there, the two before it would be, too
  job.wait_for_out(prefix(0) + "got USR1\n");
  job.wait_for_out(prefix(1) + "got USR1\n");
  job.send(SIGTERM);
  CHECK(job.wait() == 143);
  CHECK(count_of("got HUP", job.out) == 0);
  CHECK(count_of("got INT", job.out) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e signals: the workers' mask and dispositions are the user's") {
  const Job& job = run(Setup{.arguments = {"/bin/grep", "^Sig[BI]", "/proc/self/status"},
                             .ignored_signals = {SIGPIPE, SIGHUP},
                             .blocked_signals = {SIGUSR2}});
  CHECK(job.out ==
        prefix(0) + "SigBlk:\t0000000000000800\n" + prefix(0) + "SigIgn:\t0000000000001001\n");
  const Job& plainly = run({"/bin/grep", "^Sig[BI]", "/proc/self/status"});
  CHECK(plainly.out ==
        prefix(0) + "SigBlk:\t0000000000000000\n" + prefix(0) + "SigIgn:\t0000000000000000\n");
}

}  // namespace e2e
