// The exit status and the last line on stderr, for every way in which a job can end.
#include "tests/e2e/kit.hpp"

#include <signal.h>

#include <thread>

namespace e2e {
namespace {

Words with(const char* count, const std::string& text) {
  return Words{"--nproc-per-node", count} + shell(text);
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e status: 0 when all workers succeed") {
  const Job& job = run({"--nproc-per-node", "3", "true"});
  CHECK(job.status() == 0);
  CHECK(job.out.empty());
  const Words said = lines_of(plain(job.err));
  const bool cores_are_few = std::thread::hardware_concurrency() < 3;  // which is said first
  REQUIRE(said.size() == (cores_are_few ? 2 : 1));
  CHECK(said.back().starts_with("generation 1 (start): 3 workers on " + host()));
}

TEST_CASE_FIXTURE(Case, "e2e status: a worker's own status is the job's") {
  for (const int status : {1, 3, 42, 127, 255}) {
    CAPTURE(status);
    const std::string number = std::to_string(status);
    const Job& job = run(shell("exit " + number));
    CHECK(job.status() == status);
    CHECK(last_line(job.err) ==
          "exit status " + number + ": rank 0 (pid N on HOST) exited with " + number);
  }
}

TEST_CASE_FIXTURE(Case, "e2e status: 128+n for a worker killed by signal n") {
  const std::map<int, std::string> ends{{SIGSEGV, "SIGSEGV (11)"},
                                        {SIGABRT, "SIGABRT (6)"},
                                        {SIGKILL, "SIGKILL (9)"},
                                        {SIGBUS, "SIGBUS (7)"},
                                        {SIGPIPE, "SIGPIPE (13)"}};
  for (const auto& end : ends) {
    const auto& [signal, name] = end;
    CAPTURE(end.second);
    const Job& job = run(shell("kill -" + std::to_string(signal) + " $$"));
    const int status = 128 + signal;
    CHECK(job.status() == status);
    CHECK(last_line(job.err) == "exit status " + std::to_string(status) +
                                    ": rank 0 (pid N on HOST) was killed by " + name);
  }
}

TEST_CASE_FIXTURE(Case, "e2e status: the first failure wins over those it causes") {
  const Job& job = run(with("3",
                            "if [ $RANK = 1 ]; then until [ -e up.0 ] && [ -e up.2 ]; do sleep "
                            "0.01; done; exit 5; fi\n"
                            "trap 'exit 9' TERM; : > up.$RANK; while :; do sleep 0.01; done"));
  CHECK(job.status() == 5);
  CHECK(last_line(job.err) == "exit status 5: rank 1 (pid N on HOST) exited with 5");
}

TEST_CASE_FIXTURE(
    Case, "e2e status: of two deaths at once the earlier one counts even if of a higher rank") {
  Job& job = start(with("2", "echo pid $$; exec sleep 60"));
  const int agent = job.agent();
  const int lower = job.pid_of(0);
  const int higher = job.pid_of(1);
  kill(agent, SIGSTOP);
  job.wait_until("stopped agent", [&] { return state_of(agent) == 'T'; });
  kill(higher, SIGSEGV);
  job.wait_until("end of rank 1", [&] { return state_of(higher) == 'Z'; });
  kill(lower, SIGABRT);
  job.wait_until("end of rank 0", [&] { return state_of(lower) == 'Z'; });
  kill(agent, SIGCONT);
  CHECK(job.wait() == 128 + SIGSEGV);
  CHECK(last_line(job.err) == "exit status 139: rank 1 (pid N on HOST) was killed by SIGSEGV (11)");
}

TEST_CASE_FIXTURE(Case, "e2e status: a failure after successes counts") {
  const Job& job = run(with("2",
                            "[ $RANK = 0 ] && { : > done; exit 0; }\n"
                            "until [ -e done ]; do sleep 0.01; done; exit 6"));
  CHECK(job.status() == 6);
}

TEST_CASE_FIXTURE(Case,
                  "e2e status: the report shows the failed worker's last lines of stderr alone") {
  const Job& job = run(Words{"--console", "0"} +
                       with("2",
                            "[ $RANK = 0 ] && { echo other >&2; : > said; exec sleep 60; }\n"
                            "until [ -e said ]; do sleep 0.01; done\n"
                            "i=0; while [ $i -lt 50 ]; do echo line $i >&2; i=$((i+1)); done\n"
                            "exit 4"));
  CHECK(job.status() == 4);
  CHECK(count_of("  last lines of rank 1's stderr:\n", job.err) == 1);
  CHECK(count_of(prefix(1) + "line ", job.err) == 0);
  CHECK(count_of("  | line ", job.err) == 40);
  CHECK(count_of("  | line 10\n", job.err) == 1);
  CHECK(count_of("  | line 9\n", job.err) == 0);
  CHECK(count_of("  | other", job.err) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e status: what was shown of a failure is not shown twice") {
  const Job& job = run(with("2",
                            "[ $RANK = 0 ] && exec sleep 60\n"
                            "echo Traceback >&2; echo ValueError: 3 >&2; exit 4"));
  CHECK(job.status() == 4);
  CHECK(count_of("Traceback", job.err) == 1);
  CHECK(count_of("  last line of rank 1's stderr: ValueError: 3\n", job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e status: the exception that an error file tells is shown, once") {
  const Job& job = run(Words{"--log-dir", "logs", "--rdzv-id", "7"} +
                       shell("echo '{\"message\": {\"message\": \"ValueError: 3\"}}' > "
                             "\"$TORCHELASTIC_ERROR_FILE\"; exit 3"));
  CHECK(job.status() == 3);
  CHECK(count_of("  exception of rank 0:\n  | ValueError: 3\n  error file: ", job.err) == 1);
  CHECK(count_of("ValueError", job.err) == 1);
}

namespace {

/// A worker of rank 0 that writes what @record would, and its process's number.
const std::string records =
    "echo '{\"message\": {\"message\": \"ValueError: 3\"}}' > \"$TORCHELASTIC_ERROR_FILE\"; "
    "ls $TMPDIR > seen; ";

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e status: the exception is shown where no files are kept, and none is") {
  const Job& job = run(shell(records + "exit 3"));
  CHECK(job.status() == 3);
  CHECK(count_of("  exception of rank 0:\n  | ValueError: 3\nddprun ", job.err) == 1);
  CHECK(count_of("error file", job.err) == 0);
  CHECK(read("seen").starts_with("ddprun_errors_"));
  CHECK(names_in("tmp").empty());
  CHECK(run(shell(records)).status() == 0);
  CHECK(names_in("tmp").empty());
}

TEST_CASE_FIXTURE(Case, "e2e status: a job without any place for error files goes on without") {
  Setup setup{.arguments = shell("[ -z \"$TORCHELASTIC_ERROR_FILE\" ]")};
  setup.environment["TMPDIR"] = folder() / "missing";
  const Job& job = run(setup);
  CHECK(job.status() == 0);
  CHECK(count_of("missing", job.err) == 0);
}

TEST_CASE_FIXTURE(Case,
                  "e2e status: whichever of ddprun's processes is killed, no folder is left") {
  for (const bool is_guard : {true, false}) {
    CAPTURE(is_guard);
    std::filesystem::remove(folder() / "begun");
    Job& job = start(shell(records + ": > begun; exec sleep 60"));
    job.wait_for_file("begun");
    CHECK(names_in("tmp").size() == 1);
    ::kill(is_guard ? job.guard() : job.agent(), SIGKILL);
    CHECK(job.wait() == (is_guard ? 128 + SIGKILL : 70));
    CHECK(all_gone_within_a_second());
    CHECK(names_in("tmp").empty());
  }
}

TEST_CASE_FIXTURE(Case, "e2e status: an error file that the worker has left is named") {
  const Job& job = run(Words{"--log-dir", "logs"} +
                       shell("echo '{}' > \"$TORCHELASTIC_ERROR_FILE\" || exit 9; exit 3"));
  CHECK(job.status() == 3);
  const Words jobs = names_in("logs");
  REQUIRE(jobs.size() == 1);
  const std::string path = "logs/" + jobs.front() + "/1/0.error.json";
  CHECK(read(path) == "{}\n");
  CHECK(count_of("  error file: ", job.err) == 1);
  CHECK(count_of(path + "\n", job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e status: a SIGCHLD ignored by whoever started ddprun changes nothing") {
  const Job& job = run(Setup{.arguments = shell("exit 3"), .ignored_signals = {SIGCHLD}});
  CHECK(job.status() == 3);
}

}  // namespace e2e
