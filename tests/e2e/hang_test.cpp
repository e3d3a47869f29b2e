// --hang-timeout: workers that tell of their steps, and then nothing more.
#include "tests/e2e/kit.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace e2e {
namespace {

/// Twenty steps; in the first generation rank 1 does WHAT after the fourth.
Words trains(const std::string& what) {
  return {"python3",
          "-c",
          "import os, socket, sys, time\n"
          "control = socket.socket(fileno=int(os.environ['DDPRUN_CONTROL_FD']))\n"
          "is_it = os.environ['RANK'] == '1' and os.environ['DDPRUN_GENERATION'] == '1'\n"
          "control.send(b'hello 1\\n')\n"
          "for step in range(1, 21):\n"
          "  time.sleep(0.01)\n"
          "  control.send(f'step {step} 10\\n'.encode())\n"
          "  if step == 4 and is_it:\n"
          "    " +
              what + "\n"};
}

const Words watched{"--nproc-per-node", "2", "--hang-timeout", "1s"};

class HangCase : public Case {
 public:
  Job& runs(const Words& more, const Words& program) {
    Job& job = run(watched + more + program);
    CHECK(job.left_at_end().empty());
    return job;
  }
};

}  // namespace

TEST_CASE_FIXTURE(HangCase, "e2e hang: a worker that tells nothing more fails its generation") {
  const Job& again = runs({"--max-restarts", "1"}, trains("time.sleep(600)"));
  CHECK(again.status() == 0);
  CHECK(count_of("rank 1 hangs after step 4 (--hang-timeout)", again.err) > 0);
  CHECK(count_of("hung: it told nothing for 1", again.err) > 0);
  CHECK(count_of("generation 2 (restart 1 of 1: rank 1 (pid ", again.err) > 0);
  const Job& last = runs({"--report", "report.json"}, trains("time.sleep(600)"));
  CHECK(last.status() == 124);
  CHECK(count_of("exit status 124: rank 1 (pid ", last.err) > 0);
  const auto failure = nlohmann::json::parse(read("report.json"))["first_failure"];
  CHECK(failure["end"] == "hung");
  CHECK(failure["exit_status"] == 124);
  CHECK(failure["silent_ms"] >= 1000);
}

TEST_CASE_FIXTURE(HangCase, "e2e hang: a worker that says that it is idle does not hang") {
  const Job& idle = runs({}, trains("control.send(b'idle\\n'); time.sleep(2)"));
  CHECK(idle.status() == 0);
  CHECK(count_of("hang", idle.err) == 0);
}

TEST_CASE_FIXTURE(HangCase,
                  "e2e hang: one that ignores SIGTERM is killed, and a stopped one, too") {
  const Job& stubborn = runs({"--restart-grace", "100ms"},
                             trains("import signal; signal.signal(15, signal.SIG_IGN); "
                                    "time.sleep(600)"));
  CHECK(stubborn.status() == 124);
  const Job& stopped = runs({}, trains("os.kill(os.getpid(), 19)"));
  CHECK(stopped.status() == 124);
}

TEST_CASE_FIXTURE(HangCase, "e2e hang: who has ended, or never said hello, is waited for") {
  CHECK(runs({}, trains("sys.exit(0)")).status() == 0);
  CHECK(runs({}, trains("control.close(); time.sleep(2.5); sys.exit(0)")).status() == 0);
  const Job& silent = runs({}, shell("sleep 2.5"));
  CHECK(silent.status() == 0);
  CHECK(count_of("--hang-timeout watches nobody: no worker here has said hello over "
                 "DDPRUN_CONTROL_FD for 1 s",
                 silent.err) == 1);
  CHECK(runs({"--hang-timeout", "off"}, trains("time.sleep(2.5)")).status() == 0);
}

TEST_CASE_FIXTURE(HangCase, "e2e hang: a worker whose output nobody takes does not hang") {
  const std::string prints =
      "ddprun=$1; shift; { $ddprun \"$@\"; echo $? >status; } | { sleep 3; cat >/dev/null; }";
  Words command{"-c", prints, "sh", E2E_DDPRUN, "--hang-timeout", "1s"};
  command = command + Words{"python3",
                            "-c",
                            "import os, socket\n"
                            "control = socket.socket(fileno=int(os.environ['DDPRUN_CONTROL_FD']))\n"
                            "control.send(b'hello 1\\n')\n"
                            "for step in range(200):\n"
                            "  print('x' * 200_000, flush=True)\n"
                            "  control.send(f'step {step} 1\\n'.encode())\n"};
  run(Setup{.arguments = command, .program = "/bin/sh"});
  CHECK(read("status") == "0\n");
}

TEST_CASE_FIXTURE(HangCase, "e2e hang: an exit while another hangs is the first failure") {
  const Job& job = runs({}, trains("time.sleep(0.2); sys.exit(3)"));
  CHECK(job.status() == 3);
}

}  // namespace e2e
