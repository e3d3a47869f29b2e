// DDPRUN_CONTROL_FD with workers that speak it, speak something else or nothing.
#include "tests/e2e/kit.hpp"
#include "tests/e2e/process_table.hpp"

#include <signal.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace e2e {
namespace {

using Json = nlohmann::ordered_json;

/// A worker in Python: `control` is its socket, and these lines run.
Words python(const std::string& text) {
  return {"python3",
          "-c",
          "import os, socket, sys, time\n"
          "control = socket.socket(fileno=int(os.environ['DDPRUN_CONTROL_FD']))\n"
          "rank = int(os.environ['RANK'])\n" +
              text};
}

class ControlCase : public Case {
 public:
  /// Runs two workers to their end; no process is left, and the job has succeeded.
  Job& runs(const Words& program) {
    Job& job = run(Words{"--nproc-per-node", "2", "--report", "report.json"} + program);
    CHECK(job.status() == 0);
    CHECK(job.left_at_end().empty());
    return job;
  }
  [[nodiscard]] Json progress() const { return Json::parse(read("report.json"))["progress"]; }
};

bool ignores_term(int pid) {
  const std::string status = file_of(pid, "status");
  const std::string name = "SigIgn:\t";
  const std::size_t at = status.find(name);
  if (at == std::string::npos) return false;
  return (std::stoull(status.substr(at + name.size(), 16), nullptr, 16) >> (SIGTERM - 1) & 1) != 0;
}

/// Lines about what workers have sent.
std::size_t notes_in(const Job& job) {
  return count_of("DDPRUN_CONTROL_FD", job.err);
}

}  // namespace

TEST_CASE_FIXTURE(ControlCase,
                  "e2e control: the example's steps, losses and snapshots are reported") {
  Job& job = runs({"python3", E2E_EXAMPLES "/control.py"});
  CHECK(notes_in(job) == 0);
  CHECK(progress() == Json::parse(R"([{"rank":0,"step":100,"metrics":{"loss":0.01},"snapshot":100},
                        {"rank":1,"step":100,"metrics":{"loss":0.01},"snapshot":100}])"));
}

/// A rank ignores SIGTERM once it has told of a step.
TEST_CASE_FIXTURE(ControlCase,
                  "e2e control: the example saves when it is asked, and ends where it is told") {
  Job& job = start({"--nproc-per-node=2",
                    "--on-signal=USR1=snapshot",
                    "--report=report.json",
                    "python3",
                    E2E_EXAMPLES "/control.py",
                    "1000000000"});
  job.wait_until("two ranks that ignore SIGTERM",
                 [&] { return std::ranges::count_if(living(), ignores_term) == 2; });
  job.send(SIGUSR1);
  const auto step_of = [&](int rank, const std::string& what) {
    const std::size_t at = job.out.find(prefix(rank) + what);
    return at == std::string::npos ? 0 : std::stol(words_of(job.out.substr(at)).at(4));
  };
  job.wait_until("two ranks that have saved",
                 [&] { return count_of("saved step ", job.out) == 2; });
  CHECK(count_of("SIGUSR1 (10): 2 of 2 workers asked to save", job.err) == 1);
  job.send(SIGTERM);
  CHECK(job.wait() == 143);
  CHECK(job.left_at_end().empty());
  const long last = step_of(0, "stopped after step ");
  for (const int rank : {0, 1}) {
    CHECK(step_of(rank, "stopped after step ") == last);
    CHECK(progress()[static_cast<std::size_t>(rank)]["snapshot"] == last);
  }
  CHECK(notes_in(job) == 0);
}

TEST_CASE_FIXTURE(ControlCase, "e2e control: the example runs without a launcher") {
  const Job& job =
      run(Setup{.arguments = {E2E_EXAMPLES "/control.py"}, .program = "/usr/bin/python3"});
  CHECK(job.status() == 0);
  CHECK(job.err.empty());
}

/// Rank 0 signals its ddprun until it is asked to save; a hello may be read after a signal. By then
/// rank 1 has been told nothing.
TEST_CASE_FIXTURE(ControlCase, "e2e control: a signal asks the workers to save that said hello") {
  const Job& job =
      run(Words{"--nproc-per-node=2", "--on-signal=USR1=snapshot", "--report=report.json"} +
          python("import signal\n"
                 "if rank == 0:\n"
                 "  control.sendall(b'hello 1\\n')\n"
                 "  control.settimeout(0.1)\n"
                 "  stat = open(f'/proc/{os.getppid()}/stat').read()\n"
                 "  guard = int(stat.rsplit(')', 1)[1].split()[1])\n"
                 "  request = b''\n"
                 "  while not request:\n"
                 "    os.kill(guard, signal.SIGUSR1)\n"
                 "    try: request = control.recv(100)\n"
                 "    except TimeoutError: pass\n"
                 "  print('asked to', request.split(b'\\n')[0].decode())\n"
                 "  open('asked', 'w').close()\n"
                 "else:\n"
                 "  while not os.path.exists('asked'): time.sleep(0.01)\n"
                 "  control.setblocking(False)\n"
                 "  try: sys.exit(len(control.recv(100)))\n"
                 "  except BlockingIOError: pass\n"));
  CHECK(job.status() == 0);
  CHECK(count_of("asked to save", job.out) == 1);
  CHECK(count_of("SIGUSR1 (10): 1 of ", job.err) > 0);
  CHECK(count_of(" asked to save", job.err) == count_of("SIGUSR1 (10): ", job.err));
  CHECK(progress() == Json::parse(R"([{"rank":0,"step":null,"metrics":{},"snapshot":null}])"));
}

/// Both ranks ignore SIGTERM, and end by the line alone; they have finished many steps before.
TEST_CASE_FIXTURE(ControlCase, "e2e control: the ranks of a node are told where to stop") {
  Job& job = start(Words{"--nproc-per-node=2", "--report=report.json"} +
                   python("import signal\n"
                          "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                          "control.sendall(b'hello 1\\n')\n"
                          "control.settimeout(0.01)\n"
                          "step, last, heard = 0, 1 << 60, b''\n"
                          "while step < last:\n"
                          "  step += 1\n"
                          "  control.sendall(f'step {step} 10\\n'.encode())\n"
                          "  if step == 30: open(f'trains.{rank}', 'w').close()\n"
                          "  try: heard += control.recv(100)\n"
                          "  except TimeoutError: pass\n"
                          "  if heard.endswith(b'\\n'): last = int(heard.split()[1])\n"
                          "control.sendall(f'saved {step}\\n'.encode())\n"
                          "print('heard', heard.decode().split()[0])\n"
                          "sys.exit(143)"));
  for (const char* const name : {"trains.0", "trains.1"}) job.wait_for_file(name);
  job.send(SIGTERM);
  CHECK(job.wait() == 143);
  CHECK(job.left_at_end().empty());
  CHECK(count_of("heard stop", job.out) == 2);
  CHECK(progress()[0]["snapshot"] == progress()[1]["snapshot"]);
  CHECK(progress()[0]["snapshot"] > 30);
}

TEST_CASE_FIXTURE(ControlCase, "e2e control: a plain program and one that closes it run on") {
  for (const Words& program :
       {Words{"true"},
        python("control.close()"),
        python("control.send(b'hello 1\\n')\ncontrol.close()"),
        // The agent closes its end, too.
        python("control.shutdown(socket.SHUT_WR)\nsys.exit(len(control.recv(1)))")}) {
    CHECK(notes_in(runs(program)) == 0);
  }
}

TEST_CASE_FIXTURE(ControlCase, "e2e control: lines of no meaning are told once of each rank") {
  const Job& job =
      runs(python("control.send(b'hello 1\\nstep \\x1b[2J\\n\\xff\\0\\n\\nstep 7 1.5\\nsav')"));
  CHECK(
      count_of("rank 0 sent \"step ?[2J\" over DDPRUN_CONTROL_FD, no line of version 1: such lines "
               "are ignored; see ddprun-protocol(7)\n",
               job.err) == 1);
  CHECK(notes_in(job) == 2);
  CHECK(progress() == Json::parse(R"([{"rank":0,"step":7,"metrics":{},"snapshot":null},
                                      {"rank":1,"step":7,"metrics":{},"snapshot":null}])"));
}

TEST_CASE_FIXTURE(ControlCase, "e2e control: half a line is told when its worker ends") {
  const Job& job = runs(python("control.send(b'hello 1\\nsaved 5')\nos._exit(0)"));
  CHECK(count_of("sent \"saved 5\" over", job.err) == 2);
}

TEST_CASE_FIXTURE(ControlCase, "e2e control: a flood is cut off, and the worker goes on") {
  const std::string floods =
      "sent = 0\n"
      "try:\n"
      "  while sent < 500_000_000: sent += control.send(DATA)\n"
      "except ConnectionError: pass\n"
      "sys.exit(sent > 2_000_000)";
  for (const char* data :
       {"b'x' * 10_000_000", "bytes(range(256)) * 4096", "b'\\n' * 65536", "b'x'"}) {
    CAPTURE(data);
    std::string text = floods;
    const Job& job = runs(python(text.replace(text.find("DATA"), 4, data)));
    CHECK(count_of("rank 1 sends more than 1000 lines or 256 kB a second", job.err) == 1);
  }
}

TEST_CASE_FIXTURE(ControlCase, "e2e control: a child that inherits it holds nothing up") {
  const Job& job =
      runs(python("control.send(b'hello 1\\nsaved 3\\n')\n"
                  "control.set_inheritable(True)\n"
                  "if os.fork() == 0:\n"
                  "  os.setsid()\n"
                  "  os.execvp('sleep', ['sleep', '60'])"));
  CHECK(notes_in(job) == 0);
  CHECK(progress()[1]["snapshot"] == 3);
  Job& nested = runs(Words{E2E_DDPRUN, "--nproc-per-node", "2"} +
                     python("control.send(b'hello 1\\nstep 1 1\\n')"));
  CHECK(notes_in(nested) == 0);
  CHECK(progress().empty());
}

TEST_CASE_FIXTURE(ControlCase, "e2e control: a worker with a terminal has it, too") {
  if (!has_terminals()) return;
  const Job& job = run(Setup{.arguments = Words{"--report", "report.json"} +
                                          python("control.send(b'hello 1\\nstep 5 1\\n')"),
                             .on_terminal = true});
  CHECK(job.status() == 0);
  CHECK(progress()[0]["step"] == 5);
}

TEST_CASE_FIXTURE(ControlCase, "e2e control: each generation begins with nothing") {
  const Job& job =
      run(Words{"--max-restarts", "1", "--restart-backoff", "0", "--report", "report.json"} +
          python("control.send(b'hello 1\\n')\n"
                 "if os.environ['DDPRUN_GENERATION'] == '1':\n"
                 "  control.send(b'step 9 1\\n')\n"
                 "  sys.exit(1)"));
  CHECK(job.status() == 0);
  CHECK(progress() == Json::parse(R"([{"rank":0,"step":null,"metrics":{},"snapshot":null}])"));
}

TEST_CASE_FIXTURE(ManyStartsCase, "e2e control: 64 workers have one each and no other's") {
  const Job& job = run(Words{"--nproc-per-node", "64", "--report", "report.json"} +
                       shell("n=$DDPRUN_CONTROL_FD; [ \"$(" E2E_HELPER " fds | wc -l)\" = 4 ] && "
                             "[ -S /proc/self/fd/$n ] && exec python3 -c \"import socket\n"
                             "socket.socket(fileno=$n).send(b'hello 1\\nstep $RANK 1\\n')\""));
  CHECK(job.status() == 0);
  CHECK(job.left_at_end().empty());
  const Json progress = Json::parse(read("report.json"))["progress"];
  REQUIRE(progress.size() == 64);
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(progress[i]["rank"] == i);
    CHECK(progress[i]["step"] == i);
  }
}

}  // namespace e2e
