// Descriptors, disks, variables and names that run out or are not there while workers go on.
#include "tests/e2e/kit.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>

namespace e2e {
namespace {

/// Each of `count` workers has come here before any goes on.
std::string meet(const std::string& name, int count) {
  return ": > " + name + ".$RANK; until set -- " + name + ".*; [ $# = " + std::to_string(count) +
         " ]; do sleep 0.01; done\n";
}

/// Runs `text` as a shell that may mount; nothing, said to be skipped, where that is forbidden.
Job* run_with_mounts(Case& test, const std::string& mounts, const std::string& text) {
  Job& job =
      test.run(Setup{.arguments = {"--mount", "/bin/sh", "-c", mounts + " || exit 99\n" + text},
                     .environment = {{"ASAN_OPTIONS", "detect_leaks=0"}},
                     .program = "/usr/bin/unshare"});
  const bool is_forbidden = job.status() == 99 || count_of("unshare failed", job.err) > 0;
  if (is_forbidden) std::puts("skipped: this user or container may not mount");
  return is_forbidden ? nullptr : &job;
}

/// Bytes of every value, the same in each run.
std::string any_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<char>(state >> 24U);
  }
  return bytes;
}

std::size_t descriptors_of(int pid) {
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE_FIXTURE(Case,
                  "e2e hardship: a worker that closes its output goes on, and nothing spins") {
  const std::string work =
      "[ $RANK = 1 ] && { until [ -e go ]; do sleep 0.01; done; echo still here; exit 0; }\n"
      "exec >&- 2>&-; : > closed; i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done\n"
      ": > worked; until [ -e left ]; do sleep 0.01; done; exit 3";
  Job& job = start(Words{"--nproc-per-node", "2"} + shell(work));
  job.wait_for_file("closed");
  const auto spent = [&] {
    return processor_time_of(job.guard()) + processor_time_of(job.agent());
  };
  const auto before = spent();
  job.wait_for_file("worked");  // after much processor time of its own
  CHECK(spent() - before < std::chrono::milliseconds(100));
  write("go", "");
  job.wait_for_out(prefix(1) + "still here\n");
  write("left", "");
  CHECK(job.wait() == 3);
  CHECK(job.out == prefix(1) + "still here\n");
  CHECK(last_line(job.err) == "exit status 3: rank 0 (pid N on HOST) exited with 3");
}

TEST_CASE_FIXTURE(Case,
                  "e2e hardship: bytes of every value are in log files as they were written") {
  write("out", any_bytes(2'000'000));
  write("err", std::string(1'000'000, '\0') + any_bytes(1'000'000));
  const Job& job = run(Words{"--nproc-per-node", "2", "--log-dir", "logs", "--rdzv-id", "7"} +
                       shell("cat out & cat err >&2; wait"));
  CHECK(job.status() == 0);
  for (const std::string rank : {"0", "1"}) {
    CHECK((read("logs/7/1/" + rank + ".out") == read("out")));
    CHECK((read("logs/7/1/" + rank + ".err") == read("err")));
  }
}

TEST_CASE_FIXTURE(Case, "e2e hardship: 24 MB without a line's end cost bounded memory") {
  constexpr std::size_t bytes = 24'000'000;
  Setup setup{.arguments = Words{"--log-dir", "logs", "--rdzv-id", "7"} +
                           shell(": > begun; until [ -e go ]; do sleep 0.01; done; head -c " +
                                 std::to_string(bytes) +
                                 " /dev/zero; until [ -e end ]; do sleep 0.01; done")};
  setup.environment["ASAN_OPTIONS"] = "quarantine_size_mb=1";  // else it keeps what was freed
  Job& job = start(setup);
  const int agent = job.agent();
  job.wait_for_file("begun");
  const std::size_t before = memory_max_of(agent);
  write("go", "");
  constexpr std::size_t piece = 64 * 1024;
  job.wait_until("nearly all", [&] { return job.out.size() > bytes - 4 * piece; });
  const std::size_t grown = memory_max_of(agent) - before;
  CHECK(grown < 12'000);
  write("end", "");
  CHECK(job.wait() == 0);
  std::string expected;
  for (std::size_t at = 0; at < bytes; at += piece) {
    expected += prefix(0) + std::string(std::min(piece, bytes - at), '\0') + "\n";
  }
  CHECK((job.out == expected));
  CHECK((read("logs/7/1/0.out") == std::string(bytes, '\0')));
}

TEST_CASE_FIXTURE(Case, "e2e hardship: without descriptors for log files the workers go on") {
  Job& sizing = start(Words{"--nproc-per-node", "8"} + shell(": > up.$RANK; exec sleep 60"));
  for (int rank = 0; rank < 8; ++rank) sizing.wait_for_file("up." + std::to_string(rank));
  const std::size_t enough = descriptors_of(sizing.agent()) + 4;
  sizing.send(SIGTERM);
  CHECK(sizing.wait() == 143);

  const std::string worker =
      script("worker",
             "#!/bin/sh\n" + meet("met", 8) + "echo out $RANK; echo err $RANK >&2\n" +
                 meet("printed", 8) + "echo $RANK > result.$RANK\n");
  const std::string command =
      "ulimit -n " + std::to_string(enough) +
      "; exec " E2E_DDPRUN " --nproc-per-node 8 --log-dir logs --rdzv-id 7 " + worker;
  const Job& job = run(Setup{.arguments = {"-c", command}, .program = "/bin/sh"});
  CHECK(job.status() == 0);
  std::size_t lacking = 0;
  for (const std::string stream : {"out", "err"}) {
    for (int rank = 0; rank < 8; ++rank) {
      const std::string number = std::to_string(rank);
      const std::string line = stream + " " + number + "\n";
      CHECK(count_of(prefix(rank) + line, stream == "out" ? job.out : job.err) == 1);
      CHECK(read("result." + number) == number + "\n");
      const std::string file = "logs/7/1/" + number + "." + stream;
      const std::string said = "cannot write to " + (folder() / file).string() +
                               ": Too many open files; its output is dropped from here on; raise "
                               "the hard limit, ulimit -Hn\n";
      const bool is_lacking = count_of(said, job.err) == 1;
      CHECK(read(file) == (is_lacking ? "" : line));
      if (is_lacking) ++lacking;
    }
  }
  CHECK(lacking >= 1);
  CHECK(count_of("cannot write to ", job.err) == lacking);
}

TEST_CASE_FIXTURE(Case, "e2e hardship: a full disk ends a log file, not the job") {
  std::filesystem::create_directories(folder() / "logs");
  const Job* job = run_with_mounts(*this,
                                   "mount -t tmpfs -o size=64k none logs",
                                   E2E_DDPRUN " --log-dir logs --rdzv-id 7 /bin/sh -c '" E2E_HELPER
                                              " lines 3000 100; echo last; : > done'\n"
                                              "status=$?; cp logs/7/1/0.out kept; exit $status");
  if (job == nullptr) return;
  CHECK(job->status() == 0);
  CHECK(has("done"));
  const Words lines = lines_of(job->out);
  REQUIRE(lines.size() == 3001);
  CHECK(lines.back() == prefix(0) + "last");
  CHECK(count_of("cannot write to ", job->err) == 1);
  CHECK(count_of("cannot write to " + (folder() / "logs/7/1/0.out").string() +
                     ": No space left on device; its output is dropped from here on\n",
                 job->err) == 1);
  std::string printed;
  for (const std::string& line : lines) printed += line.substr(prefix(0).size()) + "\n";
  const std::string kept = read("kept");
  CHECK(kept.size() > 10'000);
  CHECK(kept.size() < printed.size());
  CHECK((printed.starts_with(kept)));
}

TEST_CASE_FIXTURE(Case,
                  "e2e hardship: a folder for log files that cannot be made is told with why") {
  std::filesystem::create_directories(folder() / "logs");
  const Job* job = run_with_mounts(
      *this,
      "mount -t tmpfs -o nr_inodes=6 none logs",  // logs, 7, 1, 0.out, 0.err, latest
      "exec " E2E_DDPRUN
      " --log-dir logs --rdzv-id 7 --max-restarts 1 /bin/sh -c "
      "'echo generation $DDPRUN_GENERATION; [ $DDPRUN_GENERATION = 2 ]'");
  if (job == nullptr) return;
  CHECK(job->status() == 0);
  CHECK(job->out == prefix(0) + "generation 1\n" + prefix(0) + "generation 2\n");
  CHECK(count_of("cannot write to ", job->err) == 2);
  for (const std::string file : {"0.out", "0.err"}) {
    CHECK(count_of("cannot write to " + (folder() / "logs/7/2" / file).string() +
                       ": No space left on device; its output is dropped from here on\n",
                   job->err) == 1);
  }
}

TEST_CASE_FIXTURE(Case, "e2e hardship: in a folder that is read-only a job without files runs") {
  std::filesystem::create_directories(folder() / "here");
  const std::string here = (folder() / "here").string();
  const auto run_here = [&](const std::string& arguments) {
    return run_with_mounts(*this,
                           "mount --bind here here && mount -o remount,ro,bind here && cd " + here,
                           "exec " E2E_DDPRUN " " + arguments);
  };
  const Job* job = run_here(
      "--nproc-per-node 2 --max-restarts 1 /bin/sh -c "
      "'echo $DDPRUN_GENERATION; [ $DDPRUN_GENERATION = 2 ]'");
  if (job == nullptr) return;
  CHECK(job->status() == 0);
  CHECK(count_of("] 2\n", job->out) == 2);
  for (const std::string option : {"log-dir", "snapshot"}) {
    const Job* refused = run_here("--" + option + " new/file echo started");
    REQUIRE(refused != nullptr);
    CHECK(refused->status() == 71);
    CHECK(refused->out.empty());
    CHECK(refused->err == "ddprun: --" + option +
                              ": 'new/file' from the command line cannot be written: Read-only "
                              "file system; name a folder that you may write to\n");
  }
}

TEST_CASE_FIXTURE(Case, "e2e hardship: without HOME and PATH a program runs by its path") {
  const auto run_bare = [&](const Words& program) -> const Job& {
    return run(Setup{.arguments = Words{"-u", "HOME", "-u", "PATH", E2E_DDPRUN} + program,
                     .program = "/usr/bin/env"});
  };
  const Job& job = run_bare(shell("echo ${HOME-none}"));
  CHECK(job.status() == 0);
  CHECK(job.out == prefix(0) + "none\n");
  const Job& lost = run_bare({"no-such-program"});
  CHECK(lost.status() == 127);
  CHECK(lost.err ==
        "ddprun: cannot run 'no-such-program' from the command line: there is no such program in "
        "the current folder or in /usr/local/bin:/usr/bin:/bin, since PATH is not set; check its "
        "name or give its path\n");
}

TEST_CASE_FIXTURE(Case, "e2e hardship: a job of the same id leaves a living one's log to it") {
  const auto words = [&](const std::string& id, const std::string& text) {
    return Words{"--log-dir", "logs", "--rdzv-id", id} + shell(text);
  };
  Job& living =
      start(words("7", "echo begun; until [ -e go ]; do sleep 0.01; done; echo ended; exit 4"));
  living.wait_for_out(prefix(0) + "begun\n");
  CHECK(run(words("7", "echo same id")).status() == 0);
  CHECK(run(words("8", "echo other id")).status() == 0);
  write("go", "");
  CHECK(living.wait() == 4);
  CHECK(read("logs/7/1/0.out") == "same id\n");
  CHECK(read("logs/7/1/0.out.1") == "begun\nended\n");
  CHECK(read("logs/8/1/0.out") == "other id\n");
}

TEST_CASE_FIXTURE(Case, "e2e hardship: jobs of one id that start at once lose nothing in the log") {
  const auto words = [&](const std::string& text) {
    return Words{"--log-dir", "logs", "--rdzv-id", "7"} +
           shell(E2E_HELPER " lines 50 100; " + text);
  };
  CHECK(run(words("echo oldest")).status() == 0);
  std::vector<Job*> jobs;
  for (const char* text : {"echo job 1; exit 11", "echo job 2; exit 12", "echo job 3; exit 13"}) {
    jobs.push_back(&start(words(text)));
  }
  int status = 11;
  for (Job* job : jobs) CHECK(job->wait() == status++);
  std::string all;
  for (const std::string& name : names_in("logs/7/1")) all += read("logs/7/1/" + name);
  CHECK(count_of("rank 0 line ", all) == 200);
  for (const char* last : {"oldest\n", "job 1\n", "job 2\n", "job 3\n"}) {
    CHECK(count_of(last, all) == 1);
  }
}

}  // namespace e2e
