// Many workers on one node, and little to live on.
#include "tests/e2e/kit.hpp"

#include <signal.h>

#include <cstdio>

namespace e2e {

TEST_CASE_FIXTURE(Case, "e2e limits: 64 workers that end at once") {
  const Job& job = run({"--nproc-per-node", "64", "/bin/true"});
  CHECK(job.status() == 0);
}

TEST_CASE_FIXTURE(Case, "e2e limits: 200 workers that print") {
  const Job& job = run(Words{"--nproc-per-node", "200"} + shell("echo one $RANK; echo two $RANK"));
  CHECK(job.status() == 0);
  CHECK(lines_of(job.out).size() == 400);
  for (int rank = 0; rank < 200; ++rank) {
    const std::string number = std::to_string(rank);
    CHECK(count_of(prefix(rank) + "one " + number + "\n", job.out) == 1);
    CHECK(count_of(prefix(rank) + "two " + number + "\n", job.out) == 1);
  }
}

TEST_CASE_FIXTURE(Case, "e2e limits: 200 workers with a soft limit of 64 open files") {
  const Job& job =
      run(Setup{.arguments = {"--nproc-per-node", "200", "/bin/true"}, .files_max = 64});
  CHECK(job.status() == 0);
}

TEST_CASE_FIXTURE(Case,
                  "e2e limits: a hard limit too low for all workers ends the job and says so") {
  const Job& job = run(
      Setup{.arguments = {"-c", "ulimit -n 40; exec " E2E_DDPRUN " --nproc-per-node=64 sleep 60"},
            .program = "/bin/sh"});
  CHECK(job.status() == 71);
  CHECK(last_line(job.err).starts_with("exit status 71: rank "));
  CHECK(last_line(job.err).ends_with(" could not be started: Too many open files"));
  CHECK(count_of("  hint: too few descriptors: raise the hard limit, ulimit -Hn\n", job.err) == 1);
  CHECK(job.left_at_end().empty());
}

TEST_CASE_FIXTURE(Case, "e2e limits: a client that asks for more than it reads costs no memory") {
  const Job& job = run(Setup{.arguments = {E2E_SOURCE_DIR "/greedy_client.py"},
                             .environment = {{"ASAN_OPTIONS", "quarantine_size_mb=1"}}});
  CHECK_MESSAGE(job.status() == 0, job.err);
}

TEST_CASE_FIXTURE(Case, "e2e limits: without a /proc of its own nothing is started") {
#ifdef DDPRUN_SANITIZED  // the sanitizer needs /proc/self, which is no symbolic link to a PID
  const std::string mount_nothing =
      "mount --rbind /proc /mnt && mount -t tmpfs none /proc && ln -s /mnt/self /proc/self";
#else
  const std::string mount_nothing = "mount -t tmpfs none /proc";
#endif
  const std::string start = mount_nothing + " || exit 99; exec " E2E_DDPRUN " true";
  for (const Words& arguments :
       {Words{"--mount", "/bin/sh", "-c", start}, Words{"--pid", "--fork", E2E_DDPRUN, "true"}}) {
    const Job& job = run(Setup{.arguments = arguments,
                               .environment = {{"ASAN_OPTIONS", "detect_leaks=0"}},  // by /proc
                               .program = "/usr/bin/unshare"});
    if (job.err.find("ddprun") == std::string::npos) {
      std::puts("skipped: this user or container may not make namespaces");
      return;
    }
    CHECK(job.status() == 71);
    CHECK(job.err ==
          "ddprun: cannot list child processes: /proc is not mounted, or belongs to another PID "
          "namespace; mount this one's (unshare --mount-proc), else nothing can be cleaned up\n");
  }
}

TEST_CASE_FIXTURE(Case, "e2e limits: 64 workers are restarted and stopped") {
  Job& job = start(Words{"--nproc-per-node", "64", "--max-restarts", "1"} +
                   shell("[ $DDPRUN_GENERATION.$RANK = 1.63 ] && exit 1; echo pid $$; exec sleep "
                         "60"));
  job.wait_for_err("generation 2 ");
  for (const int rank : {0, 31, 63}) CHECK(job.pid_of(rank) > 0);
  kill(job.guard(), SIGTERM);
  CHECK(job.wait() == 143);
  CHECK(job.left_at_end().empty());
}

}  // namespace e2e
