// Nobody reads ddprun's stdout for a while: workers that print wait, everything else goes on.
#include "tests/e2e/kit.hpp"

#include <signal.h>

#include <fstream>

namespace e2e {
namespace {

constexpr std::size_t line_count = 200'000;  // of 100 bytes: more than all pipes and queues hold

const std::string flood = E2E_HELPER " lines 200000 100";

/// What a process has written so far.
std::size_t bytes_written_by(int pid) {
  std::ifstream io("/proc/" + std::to_string(pid) + "/io");
  std::string name;
  for (std::size_t bytes = 0; io >> name >> bytes;) {
    if (name == "wchar:") return bytes;
  }
  return 0;
}

/// Starts `text` with two workers, the first of which prints its pid and floods stdout; returns
/// when nothing moves on any more.
Job& start_blocked(Case& test, const Words& options, const std::string& text) {
  Job& job = test.start(Words{"--nproc-per-node", "2"} + options + shell(text));
  const int flooding = job.pid_of(0);
  job.stop_reading();
  std::size_t before = 0;
  auto since = Clock::now();
  job.wait_until("stand-still", [&] {
    const std::size_t bytes = bytes_written_by(flooding);
    if (bytes != before) since = Clock::now();
    before = bytes;
    return bytes > 1'000'000 && Clock::now() - since > std::chrono::milliseconds(200);
  });
  CHECK(before < line_count * 100);
  return job;
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e slow reader: workers wait for it and nothing is lost") {
  Job& job = start_blocked(*this, {}, "[ $RANK = 1 ] && exit 0; echo pid $$; exec " + flood);
  job.resume_reading();
  CHECK(job.wait() == 0);
  CHECK(lines_of(job.out).size() == line_count + 1);
  CHECK(count_of(prefix(0) + "rank 0 line 199999 ", job.out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e slow reader: a restart does not wait for it") {
  Job& job = start_blocked(*this,
                           {"--max-restarts", "1"},
                           "if [ $DDPRUN_GENERATION = 2 ]; then : > second.$RANK; exit 0; fi\n"
                           "[ $RANK = 0 ] && { echo pid $$; exec " +
                               flood + "; }\nuntil [ -e go ]; do sleep 0.01; done; exit 3");
  write("go", "");
  job.wait_for_file("second.0");
  job.wait_for_file("second.1");
  job.resume_reading();
  CHECK(job.wait() == 0);
}

TEST_CASE_FIXTURE(ManyStartsCase,
                  "e2e slow reader: restarts without any reader cost bounded memory") {
  Setup setup{
      .arguments =
          Words{"--nproc-per-node", "32", "--max-restarts", "40", "--restart-backoff", "0"} +
          Words{"--restart-grace", "1h"} +
          shell("printf %60000s x; printf %60000s x >&2\n"
                "[ $DDPRUN_GENERATION = 41 ] || exit 1; : > last.$RANK")};
  setup.environment["ASAN_OPTIONS"] = "quarantine_size_mb=1";  // else it keeps what was freed
  Job& job = start(setup);
  const int agent = job.agent();
  job.stop_reading();
  job.wait_for_file("last.31");  // after 41 × 32 × 120 kB = 157 MB
  CHECK(memory_max_of(agent) < 130'000);
  job.resume_reading();
  CHECK(job.wait() == 0);
  CHECK(count_of("which reads them too slowly", job.err) >= 1);
}

TEST_CASE_FIXTURE(Case, "e2e slow reader: signals are passed on meanwhile") {
  Job& job = start_blocked(
      *this,
      {},
      "[ $RANK = 0 ] && { trap '' USR1; echo pid $$; exec " + flood +
          "; }\ntrap ': > usr1' USR1; until [ -e usr1 ]; do sleep 0.01; done; exit 0");
  job.send(SIGUSR1);
  job.wait_for_file("usr1");
  job.resume_reading();
  CHECK(job.wait() == 0);
}

TEST_CASE_FIXTURE(Case, "e2e slow reader: a stop ends the workers and then waits for it") {
  Job& job = start_blocked(*this, {}, "[ $RANK = 1 ] && exec sleep 60; echo pid $$; exec " + flood);
  job.send(SIGTERM);
  job.wait_until("end of the workers", [&] { return living().size() <= 2; });
  CHECK(!job.ended());
  job.resume_reading();
  CHECK(job.wait() == 143);
  CHECK(last_line(job.err) == "exit status 143: stopped by SIGTERM (15)");
  const Words lines = lines_of(job.out);
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    REQUIRE(lines[i].starts_with(prefix(0) + "rank 0 line " + std::to_string(i - 1) + " "));
  }
}

// Two of the same within a second are one wish, so the one that counts may be the third.
TEST_CASE_FIXTURE(Case, "e2e slow reader: a further TERM does not wait for it") {
  Job& job = start_blocked(*this, {}, "[ $RANK = 1 ] && exec sleep 60; echo pid $$; exec " + flood);
  job.send(SIGTERM);
  job.wait_until("end of the workers", [&] { return living().size() <= 2; });
  job.wait_until("end of the job", [&] {
    if (!job.ended()) job.send(SIGTERM);
    return job.ended();
  });
  CHECK(job.wait() == 143);
}

TEST_CASE_FIXTURE(Case, "e2e slow reader: kill -9 of the outer process leaves nothing") {
  Job& job = start_blocked(*this, {}, "[ $RANK = 1 ] && exec sleep 60; echo pid $$; exec " + flood);
  job.send(SIGKILL);
  CHECK(job.wait() == 137);
  CHECK(all_gone_within_a_second());
}

TEST_CASE_FIXTURE(Case, "e2e slow reader: kill -9 of the inner process leaves nothing") {
  Job& job = start_blocked(*this, {}, "[ $RANK = 1 ] && exec sleep 60; echo pid $$; exec " + flood);
  kill(job.agent(), SIGKILL);
  CHECK(job.wait() == 70);
  CHECK_MESSAGE(job.left_at_end().empty(), description_of(job.left_at_end()));
}

}  // namespace e2e
