// ddprun on a terminal of its own.
#include "tests/e2e/kit.hpp"

#include <signal.h>

namespace e2e {
namespace {

constexpr std::string_view control_c = "\x03";
constexpr std::string_view control_z = "\x1a";

Setup on_terminal(Words arguments) {
  return Setup{.arguments = std::move(arguments), .on_terminal = true};
}

/// ddprun as the foreground job of an interactive shell, which says "back" when it has stopped and
/// then brings it to the foreground again.
Setup in_shell(const std::string& arguments) {
  return Setup{.arguments = {"-c",
                             "set -m; " E2E_DDPRUN " " + arguments +
                                 "; echo back $?; : > go; fg >/dev/null; echo ended $?"},
               .on_terminal = true,
               .program = "/bin/bash"};
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e terminal: ctrl-Z gives it back to the shell, and fg goes on") {
  if (!has_terminals()) return;
  for (const std::string count : {"1", "2"}) {
    CAPTURE(count);
    std::filesystem::remove(folder() / "go");
    Job& job = start(in_shell("--nproc-per-node=" + count +
                              " sh -c 'echo ready; until [ -e go ]; do sleep 0.02; done; exit 3'"));
    job.wait_for_out("ready");
    job.type(control_z);
    job.wait_for_out("back 148");
    CHECK(job.wait() == 0);
    CHECK(count_of("ended 3", job.out) == 1);
  }
}

TEST_CASE_FIXTURE(Case, "e2e terminal: ctrl-C reaches a single worker once and ends with 130") {
  if (!has_terminals()) return;
  Job& job = start(on_terminal(helper({"--grace", "20s"}, {"listen"})));
  job.wait_for_out("listening");
  job.type(control_c);
  CHECK(job.wait() == 130);
  CHECK(count_of("got INT", job.out) == 1);
  CHECK(count_of("got ", job.out) == 1);
  CHECK(count_of("exit status 130: stopped by SIGINT (2)", job.out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: ctrl-C reaches each of two workers once") {
  if (!has_terminals()) return;
  Job& job = start(on_terminal(helper({"--grace", "20s", "--nproc-per-node=2"}, {"listen"})));
  job.wait_until("both workers", [&] { return count_of("listening", job.out) == 2; });
  job.type(control_c);
  CHECK(job.wait() == 130);
  CHECK(count_of(prefix(0) + "got INT", job.out) == 1);
  CHECK(count_of(prefix(1) + "got INT", job.out) == 1);
  CHECK(count_of("got ", job.out) == 2);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: a second ctrl-C skips the grace") {
  if (!has_terminals()) return;
  Job& job =
      start(on_terminal(Words{"--grace", "1h"} +
                        shell("trap 'echo first' INT; echo ready; while :; do sleep 0.02; done")));
  job.wait_for_out("ready");
  job.type(control_c);
  job.wait_for_out("first");
  const auto first = Clock::now();
  while (!job.ended()) {  // the kernel merges a second one that comes before the first was read
    job.type(control_c);
    const auto again = Clock::now() + std::chrono::milliseconds(50);
    job.wait_until("end", [&] { return job.ended() || Clock::now() >= again; });
  }
  CHECK(job.status() == 130);
  CHECK(Clock::now() - first < std::chrono::seconds(5));
}

TEST_CASE_FIXTURE(Case, "e2e terminal: TERM to ddprun reaches a single worker once") {
  if (!has_terminals()) return;
  Job& job = start(on_terminal(helper({"--grace", "20s"}, {"listen"})));
  job.wait_for_out("listening");
  job.send(SIGTERM);
  CHECK(job.wait() == 143);
  CHECK(count_of("got TERM", job.out) == 1);
  CHECK(count_of("got ", job.out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: a single worker has it as stdin and stdout and stderr") {
  if (!has_terminals()) return;
  Job& job = start(on_terminal(
      shell("for fd in 0 1 2; do [ -t $fd ] && echo terminal $fd; done; echo ready; "
            "read line && echo \"read <$line>\"; cat /proc/self/stat | cut -d' ' -f5")));
  job.wait_for_out("ready");
  for (const std::string fd : {"0", "1", "2"}) CHECK(count_of("terminal " + fd, job.out) == 1);
  job.type("some words\n");
  CHECK(job.wait() == 0);
  CHECK(count_of("read <some words>", job.out) == 1);
  CHECK(count_of(prefix(0), job.out) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: of several workers none has it") {
  if (!has_terminals()) return;
  const Job& job = run(on_terminal(
      Words{"--nproc-per-node", "2"} +
      shell(
          "for fd in 0 1 2; do [ -t $fd ] && echo terminal $fd; done; readlink /proc/self/fd/0")));
  CHECK(job.status() == 0);
  CHECK(count_of("terminal", job.out) == 0);
  CHECK(count_of("/dev/null", job.out) == 2);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: one that takes nothing more does not hold the job's end") {
  if (!has_terminals()) return;
  Job& job = start(on_terminal(
      Words{"--nproc-per-node", "2"} +
      shell("[ $RANK = 1 ] && exit 0; echo pid $$; exec " E2E_HELPER " lines 20000 100")));
  (void)job.pid_of(0);
  job.stop_reading();
  CHECK(job.wait() == 0);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: a bar is drawn over itself") {
  if (!has_terminals()) return;
  const Job& job = run(on_terminal(Words{"--nproc-per-node", "2"} +
                                   shell("[ $RANK = 1 ] && exit 0; printf '1%%\\r2%%\\r3%%\\n'")));
  CHECK(count_of(prefix(0) + "1%\r" + prefix(0) + "2%\r" + prefix(0) + "3%\r\n", job.out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: its end stops the job") {
  if (!has_terminals()) return;
  Job& job =
      start(on_terminal(Words{"--nproc-per-node", "2"} + shell("echo ready; exec sleep 60")));
  job.wait_until("both workers", [&] { return count_of("ready", job.out) == 2; });
  job.hang_up();
  CHECK(job.wait() == 128 + SIGHUP);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: its end reaches a single worker as HUP once") {
  if (!has_terminals()) return;
  Job& job = start(on_terminal(shell("exec " E2E_HELPER " listen > heard")));
  job.wait_until("listening worker", [&] { return read("heard") == "listening\n"; });
  job.hang_up();  // the kernel tells the leader of the session alone, which ddprun is here
  CHECK(job.wait() == 128 + SIGHUP);
  CHECK(read("heard") == "listening\ngot HUP\n");
}

}  // namespace e2e
