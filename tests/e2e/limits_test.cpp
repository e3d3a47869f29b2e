// Many workers on one node.
#include "tests/e2e/kit.hpp"

#include <signal.h>

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
