// What workers print arrives whole: on the console in lines with a prefix, in files byte for byte.
#include "tests/e2e/kit.hpp"

#include <charconv>

namespace e2e {
namespace {

Words workers(const char* count, const Words& program) {
  return Words{"--nproc-per-node", count} + program;
}

/// As the helper's `lines` writes it, without its end.
std::string expected_line(int rank, int number, std::size_t bytes) {
  std::string line = "rank " + std::to_string(rank) + " line " + std::to_string(number) + " ";
  line.resize(bytes - 1, static_cast<char>('a' + number % 26));
  return line;
}

/// How many lines of each rank came, in order and whole; stops at the first that did not.
std::vector<int> whole_lines(const std::string& out, int rank_count, std::size_t bytes) {
  std::vector<int> counts(static_cast<std::size_t>(rank_count));
  for (const std::string& line : lines_of(out)) {
    const std::size_t at = line.find("] rank ");
    int rank = -1;
    if (at != std::string::npos) {
      std::from_chars(line.data() + at + 7, line.data() + line.size(), rank);
    }
    if (rank < 0 || rank >= rank_count) {
      FAIL_CHECK("no line of a worker: ", line);
      break;
    }
    int& count = counts[static_cast<std::size_t>(rank)];
    if (line != prefix(rank) + expected_line(rank, count, bytes)) {
      FAIL_CHECK("torn, lost or out of order: ", line);
      break;
    }
    ++count;
  }
  return counts;
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e output: stdout and stderr stay apart and each line has its prefix") {
  const Job& job = run(workers("2", shell("echo to out $RANK; echo to err $RANK >&2")));
  CHECK(job.status() == 0);
  CHECK(count_of(prefix(0) + "to out 0\n", job.out) == 1);
  CHECK(count_of(prefix(1) + "to out 1\n", job.out) == 1);
  CHECK(lines_of(job.out).size() == 2);
  CHECK(count_of(prefix(0) + "to err 0\n", job.err) == 1);
  CHECK(count_of(prefix(1) + "to err 1\n", job.err) == 1);
  CHECK(lines_of(job.err).size() == 3);
}

TEST_CASE_FIXTURE(Case, "e2e output: nothing of 8 workers is lost or torn") {
  constexpr int count = 20'000;
  const Job& job = run(workers("8", helper({}, {"lines", std::to_string(count), "100"})));
  CHECK(job.status() == 0);
  for (const int lines : whole_lines(job.out, 8, 100)) CHECK(lines == count);
}

TEST_CASE_FIXTURE(Case, "e2e output: nothing is lost when a worker prints a lot and fails") {
  const Job& job = run(workers(
      "2", shell("[ $RANK = 0 ] && exec sleep 60; " E2E_HELPER " lines 20000 100; exit 3")));
  CHECK(job.status() == 3);
  CHECK(whole_lines(job.out, 2, 100)[1] == 20'000);
}

TEST_CASE_FIXTURE(Case,
                  "e2e output: nothing of 64 workers is lost or torn, and one failure counts") {
  const Job& job = run(workers("64",
                               shell(E2E_HELPER " lines 500 100; : > done.$RANK\n"
                                                "[ $RANK = 63 ] || exit 0\n"
                                                "until set -- done.*; [ $# = 64 ]; do sleep 0.01; "
                                                "done; exit 7")));
  CHECK(job.status() == 7);
  for (const int lines : whole_lines(job.out, 64, 100)) CHECK(lines == 500);
}

TEST_CASE_FIXTURE(Case, "e2e output: of a bar a log gets the first and the last state") {
  const std::string bar =
      "i=0; while [ $i -lt 1000 ]; do printf '\\r %d of 1000' $i; "
      "i=$((i+1)); done; printf '\\r 1000 of 1000\\n'";
  const Job& job = run(Words{"--log-dir", "logs", "--rdzv-id", "7"} + shell(bar));
  CHECK(job.out == prefix(0) + " 0 of 1000\n" + prefix(0) + " 1000 of 1000\n");
  CHECK(count_of("\r", read("logs/7/1/0.out")) == 1001);  // a worker's own file has all
}

TEST_CASE_FIXTURE(Case, "e2e output: a line without an end gets one") {
  CHECK(run(shell("printf 'no end'")).out == prefix(0) + "no end\n");
  CHECK(run(shell("printf 'dos\\r\\n\\n'")).out == prefix(0) + "dos\r\n" + prefix(0) + "\n");
  CHECK(run({"true"}).out.empty());
}

TEST_CASE_FIXTURE(Case, "e2e output: a line appears before its worker ends") {
  Job& job =
      start(shell("echo one; until [ -e go ]; do sleep 0.01; done; printf 'two\\rthree'; until [ "
                  "-e end ]; do sleep 0.01; done"));
  job.wait_for_out(prefix(0) + "one\n");
  write("go", "");
  job.wait_for_out(prefix(0) + "two\n");
  write("end", "");
  CHECK(job.wait() == 0);
}

TEST_CASE_FIXTURE(Case, "e2e output: lines of more than 64 KiB arrive in pieces that add up") {
  constexpr std::size_t bytes = 1'000'000;
  const Job& job = run(workers("2", helper({}, {"lines", "2", std::to_string(bytes)})));
  CHECK(job.status() == 0);
  for (const int rank : {0, 1}) {
    std::string all;
    for (const std::string& line : lines_of(job.out)) {
      CHECK(line.size() <= 64 * 1024 + prefix(rank).size());
      if (line.starts_with(prefix(rank))) all += line.substr(prefix(rank).size());
    }
    CHECK(all == expected_line(rank, 0, bytes) + expected_line(rank, 1, bytes));
  }
}

TEST_CASE_FIXTURE(Case, "e2e output: where stdout and stderr are one, their order is kept") {
  const std::string in_turn =
      "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
  const std::string worker = script("in_turn", "#!/bin/sh\n" + in_turn + "\n");
  const std::string command =
      "exec " E2E_DDPRUN " --nproc-per-node 2 " + worker + " 2>&1 | grep '^\\[.*:1\\]'";
  const Job& job = run(Setup{.arguments = {"-c", command}, .program = "/bin/sh"});
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    expected += prefix(1) + "out " + std::to_string(i) + "\n";
    expected += prefix(1) + "err " + std::to_string(i) + "\n";
  }
  CHECK(job.out == expected);
}

TEST_CASE_FIXTURE(Case, "e2e output: what is not shown is told of after a failure, by its stream") {
  const auto told = [&](const std::string& console) {
    return run(Setup{.arguments = {"-c",
                                   E2E_DDPRUN " --console " + console +
                                       " sh -c 'echo ValueError >&2; seq 1 60; exit 3' 2>&1"},
                     .program = "/bin/sh"})
        .out;
  };
  CHECK(count_of("  last lines of rank 0's stderr:\n  | ValueError\n", told("none")) == 1);
  CHECK(count_of("  last line of rank 0's output: 60\n", told("all")) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e output: --console chooses ranks") {
  const auto shown = [&](const std::string& ranks) {
    const Job& job =
        run(Words{"--console", ranks} + workers("4", shell("echo x$RANK; echo y >&2")));
    CHECK(job.status() == 0);
    CHECK(count_of("] y", job.err) == count_of("] x", job.out));
    std::string seen;
    for (const std::string rank : {"0", "1", "2", "3"}) {
      if (count_of("] x" + rank + "\n", job.out) == 1) seen += rank;
    }
    return seen;
  };
  CHECK(shown("all") == "0123");
  CHECK(shown("none").empty());
  CHECK(shown("0") == "0");
  CHECK(shown("1,3") == "13");
  CHECK(shown("0,2-9") == "023");
}

TEST_CASE_FIXTURE(Case, "e2e output: log files have the bytes of each worker and generation") {
  const Job& job =
      run(Words{"--log-dir", "deep/logs", "--console", "0", "--max-restarts", "1"} +
          workers("2",
                  shell("printf \"out $RANK $DDPRUN_GENERATION\\0\\r\\nend\"; printf 'err\\n' >&2\n"
                        ": > said.$DDPRUN_GENERATION.$RANK; until [ -e said.$DDPRUN_GENERATION.0 "
                        "] && [ -e said.$DDPRUN_GENERATION.1 ]; do sleep 0.01; done\n"
                        "[ $DDPRUN_GENERATION = 2 ] || exit 1")));
  CHECK(job.status() == 0);
  const Words jobs = names_in("deep/logs");
  REQUIRE(jobs.size() == 1);
  const std::string log = "deep/logs/" + jobs.front() + "/";
  CHECK(names_in(log) == Words{"1", "2", "latest"});
  CHECK(read(log + "latest/0.err") == "err\n");
  CHECK(std::filesystem::read_symlink(folder() / log / "latest") == "2");
  for (const std::string generation : {"1", "2"}) {
    CHECK(names_in(log + generation) == Words{"0.err", "0.out", "1.err", "1.out"});
    for (const std::string rank : {"0", "1"}) {
      const std::string file = log + generation + "/" + rank;
      CHECK(read(file + ".out") == "out " + rank + " " + generation + std::string("\0\r\nend", 6));
      CHECK(read(file + ".err") == "err\n");
    }
  }
  CHECK(count_of("out 1", job.out) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e output: a second run of one name leaves the first one's files alone") {
  const auto run_once = [&](const std::string& text) {
    return run(Words{"--log-dir", "logs", "--rdzv-id", "7"} + shell(text)).status();
  };
  CHECK(run_once("echo first; echo first >&2; echo '{}' > $TORCHELASTIC_ERROR_FILE; exit 3") == 3);
  CHECK(run_once("echo second; [ -e $TORCHELASTIC_ERROR_FILE ] && echo old error; true") == 0);
  CHECK(run_once("echo third") == 0);
  CHECK(read("logs/7/1/0.out") == "third\n");
  CHECK(read("logs/7/1/0.out.1") == "first\n");
  CHECK(read("logs/7/1/0.out.2") == "second\n");
  CHECK(read("logs/7/1/0.err.1") == "first\n");
  CHECK(read("logs/7/1/0.err").empty());
  CHECK(read("logs/7/1/0.error.json.1") == "{}\n");
  CHECK_FALSE(has("logs/7/1/0.error.json"));
}

TEST_CASE_FIXTURE(Case, "e2e output: megabytes go to log files byte for byte") {
  const Job& job = run(Words{"--log-dir", "logs", "--console", "none"} +
                       workers("4", helper({}, {"lines", "20000", "100"})));
  CHECK(job.status() == 0);
  const std::string log = "logs/" + names_in("logs").at(0) + "/1/";
  for (int rank = 0; rank < 4; ++rank) {
    std::string expected;
    for (int i = 0; i < 20'000; ++i) expected += expected_line(rank, i, 100) + '\n';
    CHECK((read(log + std::to_string(rank) + ".out") == expected));
    CHECK(has(log + std::to_string(rank) + ".err"));
  }
}

TEST_CASE_FIXTURE(Case, "e2e output: a reader that goes away does not end the job") {
  Job& job = start(shell(E2E_HELPER " lines 100000 100 && : > done; echo last >&2"));
  job.wait_for_out("line 0 ");
  job.close_out();
  CHECK(job.wait() == 0);
  CHECK(has("done"));
  CHECK(count_of("output is dropped from here on", job.err) == 1);
  CHECK(count_of(prefix(0) + "last\n", job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e output: closed standard streams are no obstacle") {
  const std::string work = "echo out; echo err >&2; exec " E2E_HELPER " fds > seen.$RANK";
  const Job& job =
      run(Setup{.arguments = workers("2", shell(work)), .closed_descriptors = {0, 1, 2}});
  CHECK(job.status() == 0);
  CHECK(lines_of(read("seen.0")).size() == 4);
  const Job& failing = run(Setup{.arguments = shell("exit 3"), .closed_descriptors = {1}});
  CHECK(failing.status() == 3);
  CHECK(last_line(failing.err) == "exit status 3: rank 0 (pid N on HOST) exited with 3");
}

}  // namespace e2e
