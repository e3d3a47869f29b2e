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

/// ddprun as the foreground job of an interactive shell, which says "back" when it has stopped, and
/// brings it to the foreground again when a line is typed.
Setup in_shell(const std::string& arguments) {
  return Setup{.arguments = {"-c",
                             "set -m; " E2E_DDPRUN " " + arguments +
                                 "; echo back $?; read line; : > go; fg >/dev/null; echo ended $?"},
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
    job.type("\n");
    CHECK(job.wait() == 0);
    CHECK(count_of("ended 3", job.out) == 1);
  }
}

TEST_CASE_FIXTURE(Case, "e2e terminal: a worker in the background that reads stops, until fg") {
  if (!has_terminals()) return;
  Job& job = start(
      Setup{.arguments = {"-c",
                          "set -m; " E2E_DDPRUN " sh -c 'read word; echo got $word; exit 3' & "
                          "until jobs -s | grep -q .; do sleep 0.02; done; "
                          "echo held; fg >/dev/null; echo ended $?"},
            .on_terminal = true,
            .program = "/bin/bash"});
  job.wait_for_out("held");
  job.type("it\n");
  CHECK(job.wait() == 0);
  CHECK(count_of("got it", job.out) == 1);
  CHECK(count_of("ended 3", job.out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: ctrl-Z stops workers that are in groups of their own") {
  if (!has_terminals()) return;
  Job& job = start(in_shell("--nproc-per-node=2 sh -c 'echo pid $$; exec sleep 60'"));
  const std::vector<int> workers{job.pid_of(0), job.pid_of(1)};
  job.type(control_z);
  job.wait_for_out("back 148");
  for (const int worker : workers) {
    job.wait_until("a stopped worker", [&] { return state_of(worker) == 'T'; });
  }
  job.type("\n");
  for (const int worker : workers) {
    job.wait_until("a worker that goes on", [&] { return state_of(worker) == 'S'; });
  }
  job.type(control_c);
  CHECK(job.wait() == 0);
  CHECK(count_of("ended 130", job.out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: the grace waits while ctrl-Z holds the job") {
  if (!has_terminals()) return;
  const std::string work =
      "trap 'echo told; until [ -e go ]; do sleep 0.02; done; exit 7' TERM; echo ready; "
      "while :; do sleep 0.02; done";
  write("work", work);
  Job& job = start(in_shell("--grace=1s --nproc-per-node=2 sh work"));
  job.wait_until("both workers", [&] { return count_of("ready", job.out) == 2; });
  ::kill(children_of(job.guard()).at(0), SIGTERM);
  job.wait_until("TERM", [&] { return count_of("told", job.out) == 2; });
  job.type(control_z);
  job.wait_for_out("back 148");
  const auto held_until = Clock::now() + std::chrono::milliseconds(1'200);
  job.wait_until("the grace", [&] { return Clock::now() >= held_until; });
  job.type("\n");
  CHECK(job.wait() == 0);
  CHECK(count_of("ended 143", job.out) == 1);
  CHECK(count_of("did not end within", job.out) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: ctrl-C in a debugger is the debugger's own") {
  if (!has_terminals()) return;
  write("debugged.py",
        "import os\n"
        "rank = os.environ['RANK']\n"
        "if rank == '1':\n"
        "    import pdb; pdb.set_trace()\n"
        "print('rank', rank, 'ends', flush=True)\n");
  Job& job = start(on_terminal({"--nproc-per-node=2", "--debug-rank=1", "debugged.py"}));
  job.wait_for_out("(Pdb) ");
  job.wait_for_out("rank 0 ends");
  const int agent = children_of(job.guard()).at(0);
  job.wait_until("a debugger alone that reads", [&] {
    const std::vector<int> workers = children_of(agent);
    return workers.size() == 1 && state_of(workers.front()) == 'S';
  });
  const auto before = count_of(")", job.out);
  job.type(control_c);
  job.wait_for_out("ctrl-C goes to rank 1, which has the terminal");
  job.wait_for_out("--KeyboardInterrupt--");
  // "(Pdb) " comes a character at a time: the launcher's line may come amid that.
  job.wait_until("its prompt", [&] { return count_of(")", job.out) > before; });
  job.type("p 6 * 7\n");
  job.wait_for_out("42\r\n");
  job.type("c\n");
  CHECK(job.wait() == 0);
  CHECK(count_of("\nrank 1 ends", job.out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: ctrl-C three times in a row stops who has the terminal") {
  if (!has_terminals()) return;
  Job& job = start(on_terminal({"--grace=1h",
                                "sh",
                                "-c",
                                "trap 'echo got' INT; echo ready; while :; do sleep "
                                "0.02; done"}));
  job.wait_for_out("ready");
  const std::string left = "ctrl-C goes to rank 0, which has the terminal";
  const std::string stopping = "stopping the job; once more kills the workers";
  job.type(control_c);
  job.wait_for_out(left);
  while (!job.ended()) {  // the kernel merges one that comes before the one before it was read
    job.type(control_c);
    const auto again = Clock::now() + std::chrono::milliseconds(50);
    job.wait_until("end", [&] { return job.ended() || Clock::now() >= again; });
  }
  CHECK(job.status() == 130);
  CHECK(count_of(left, job.out) == 1);
  CHECK(count_of(stopping, job.out) == 1);
  CHECK(count_of("killing the workers", job.out) == 1);
  CHECK(count_of("did not end within", job.out) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: --debug-rank says where no terminal is") {
  const Job& job = run(Words{"--debug-rank=0"} + shell("exit 3"));
  CHECK(job.status() == 3);
  CHECK(count_of("rank 0 is here, but no terminal that it could have", job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: with --console=pty each worker has one to write to") {
  if (!has_terminals()) return;
  const Job& job = run(Words{"--console=pty", "--nproc-per-node=2"} +
                       shell("[ -t 1 ] && [ -t 2 ] && ! [ -t 0 ] && stty size <&1; "
                             "printf '\\001\\004a\\r\\nb\\n'; printf partial"));
  CHECK(job.status() == 0);
  for (const int rank : {0, 1}) {
    const std::string columns = std::to_string(80 - prefix(rank).size());
    CHECK(count_of(prefix(rank) + "24 " + columns + "\n", job.out) == 1);
    CHECK(count_of(prefix(rank) + "\001\004a\r\n", job.out) == 1);
    CHECK(count_of(prefix(rank) + "b\n", job.out) == 1);
    CHECK(count_of(prefix(rank) + "partial\n", job.out) == 1);
  }
}

TEST_CASE_FIXTURE(Case, "e2e terminal: with --console=pty workers' terminals follow the width") {
  if (!has_terminals()) return;
  const std::string size = "\"24 " + std::to_string(120 - prefix(0).size()) + "\"";
  const std::string fits =
      "[ \"$(stty size <&3) $(stty size <&2)\" = " + size + "\\ " + size + " ]";
  Job& job = start(on_terminal(Words{"--console=pty", "--nproc-per-node=2"} +
                               shell("exec 3>&1; echo here; until " + fits + "; do :; done")));
  job.wait_for_out("here");
  job.set_columns(120);
  CHECK(job.wait() == 0);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: ctrl-C reaches a single worker once") {
  if (!has_terminals()) return;
  Job& job = start(on_terminal(helper({"--grace", "20s"}, {"listen"})));
  job.wait_for_out("listening");
  job.type(control_c);
  CHECK(job.wait() == 0);
  CHECK(count_of("got INT", job.out) == 1);
  CHECK(count_of("got ", job.out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: a single worker that fails at ctrl-C has the job end so") {
  if (!has_terminals()) return;
  for (const std::string work : {"echo ready; exec sleep 60",
                                 "trap 'exit 1' INT; echo ready; while :; do sleep 0.02; done"}) {
    Job& job = start(on_terminal(Words{"--max-restarts=3"} + shell(work)));
    job.wait_for_out("ready");
    job.type(control_c);
    CHECK(job.wait() == 130);
    CHECK(count_of("exit status 130: stopped by SIGINT (2)", job.out) == 1);
  }
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

TEST_CASE_FIXTURE(Case, "e2e terminal: it echoes again after a worker that was killed") {
  if (!has_terminals()) return;
  const std::string work = "stty -echo -icanon; kill -9 $$";
  Job& job = start(Setup{.arguments = {"-c",
                                       "stty | grep -c -e '-echo'; "
                                       "\"$@\"; echo ended; stty | grep -c -e '-echo'",
                                       "sh",
                                       E2E_DDPRUN,
                                       "sh",
                                       "-c",
                                       work},
                         .on_terminal = true,
                         .program = "/bin/sh"});
  (void)job.wait();
  CHECK(count_of("0\r\n", job.out.substr(0, 3)) == 1);
  const std::size_t end = job.out.find("ended\r\n");
  REQUIRE(end != std::string::npos);
  CHECK(job.out.substr(end) == "ended\r\n0\r\n");
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

TEST_CASE_FIXTURE(Case, "e2e terminal: one that takes nothing more holds neither end nor files") {
  if (!has_terminals()) return;
  Job& job = start(on_terminal(
      Words{"--nproc-per-node", "2", "--log-dir", "logs", "--rdzv-id", "7"} +
      shell("[ $RANK = 1 ] && exit 0; echo pid $$; exec " E2E_HELPER " lines 20000 100")));
  (void)job.pid_of(0);
  job.stop_reading();
  CHECK(job.wait() == 0);
  CHECK(count_of("\n", read("logs/7/1/0.out")) == 20'001);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: one that takes nothing more does not hold up the work") {
  if (!has_terminals()) return;
  Job& job =
      start(on_terminal(Words{"--nproc-per-node", "2", "--log-dir", "logs", "--rdzv-id", "7"} +
                        shell("[ $RANK = 1 ] && exit 0; echo pid $$; " E2E_HELPER
                              " lines 100000 100; : > done; until [ -e go ]; do sleep 0.1; done")));
  (void)job.pid_of(0);
  job.stop_reading();
  job.wait_for_file("done");  // it had 10 MB to print
  job.resume_reading();
  job.wait_until("that some is dropped",
                 [&] { return count_of(", which reads them too slowly", job.out) > 0; });
  write("go", "");
  CHECK(job.wait() == 0);
  CHECK(count_of("\n", read("logs/7/1/0.out")) == 100'001);
}

TEST_CASE_FIXTURE(Case, "e2e terminal: the reader of a pipe may pause for longer than a terminal") {
  if (!has_terminals()) return;
  const std::string work = "[ $RANK = 1 ] && exit 0; " E2E_HELPER " lines 20000 100; exit 3";
  write("work", work);
  Job& job =
      start(Setup{.arguments = {"-c",
                                E2E_DDPRUN " --nproc-per-node=2 sh work | "
                                           "{ until [ -e go ]; do sleep 0.1; done; wc -l; }"},
                  .on_terminal = true,
                  .program = "/bin/sh"});
  const auto patience_ends = Clock::now() + std::chrono::milliseconds(11'500);
  job.wait_until("a terminal's time", [&] { return Clock::now() >= patience_ends; });
  write("go", "");
  CHECK(job.wait() == 0);
  CHECK(count_of("20000\r\n", job.out) == 1);
  CHECK(count_of("exit status 3: rank 0", job.out) == 1);
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

TEST_CASE_FIXTURE(Case, "e2e terminal: without standard input a single worker has none of it") {
  if (!has_terminals()) return;
  const std::string program = "tty; [ -t 1 ] || echo stdout is none";
  const Job& none = run(on_terminal(Words{"--stdin=none"} + shell(program)));
  CHECK(none.status() == 0);
  CHECK(count_of("not a tty", none.out) == 1);
  CHECK(count_of("stdout is none", none.out) == 1);
  const Job& usual = run(on_terminal(shell(program)));
  CHECK(usual.status() == 0);
  CHECK(count_of("/dev/", usual.out) == 1);
}

}  // namespace e2e
