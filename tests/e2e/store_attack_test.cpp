// What clients of the store do does not touch the lease: no node is lost, and others are served.
#include "tests/e2e/nodes_kit.hpp"

#include <unistd.h>

namespace e2e {
namespace {

/// Rank 0 of two nodes attacks the store while a lease of a second is to be kept. Returns what the
/// node of the store has said.
std::string expect_one_generation(Case& test, const std::string& attack) {
  Nodes nodes{test};
  const std::string program =
      "[ $RANK = 0 ] || { until [ -e over ]; do sleep 0.01; done; exit 0; }; RDZV_PORT=" +
      std::to_string(nodes.port) + " python3 " E2E_SOURCE_DIR "/store_attacks.py " + attack +
      " && : > over";
  std::vector<Job*> jobs;
  for (const int node : {0, 1}) {
    Setup setup = nodes.setup(
        node, {"--nnodes", "2", "--dead-after", "1s", "--store-memory", "160MiB"}, program);
    setup.environment["ASAN_OPTIONS"] = "quarantine_size_mb=1";  // else it keeps what was freed
    jobs.push_back(&test.start(setup));
  }
  for (Job* job : jobs) {
    CHECK_MESSAGE(job->wait() == 0, job->err);
    CHECK_MESSAGE(count_of("generation 2", job->err) == 0, job->err);
  }
  return jobs.front()->err;
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e store attack: many small appends to a large value") {
  (void)expect_one_generation(*this, "appends");
}

TEST_CASE_FIXTURE(Case, "e2e store attack: connects and hang-ups, as many as there can be") {
  (void)expect_one_generation(*this, "connects");
}

TEST_CASE_FIXTURE(Case, "e2e store attack: many clients wait for many keys, the first comes last") {
  (void)expect_one_generation(*this, "waits");
}

TEST_CASE_FIXTURE(Case,
                  "e2e store attack: bad requests neither flood the output nor forge a line") {
  const std::string said = expect_one_generation(*this, "garbage");
  CHECK_MESSAGE(count_of("store: ", said) == 1, said);
  CHECK_MESSAGE(count_of("\nddprun 12:00:00.000: forged", said) == 0, said);
}

TEST_CASE_FIXTURE(Case, "e2e store attack: large requests that are never whole") {
  const std::string said = expect_one_generation(*this, "unfinished");
  CHECK_MESSAGE(count_of("the store's memory is short", said) > 0, said);
}

TEST_CASE_FIXTURE(Case, "e2e store attack: replies that nobody reads, a thousandfold the request") {
  (void)expect_one_generation(*this, "unread");
}

TEST_CASE_FIXTURE(Case, "e2e store attack: a large value with many watchers that read nothing") {
  const std::string said = expect_one_generation(*this, "watches");
  CHECK_MESSAGE(count_of("the store's memory is short", said) > 0, said);
}

TEST_CASE_FIXTURE(Case, "e2e store attack: another user of the machine is closed unread") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can become another user");
    return;
  }
  const std::string ask =
      "exec 3<>/dev/tcp/$MASTER_ADDR/$MASTER_PORT; printf \"\\6\" >&3; head -c 8 <&3 | wc -c";
  Job& job = run(Setup{
      .arguments = {"--no-python",
                    "/bin/bash",
                    "-c",
                    ask + "; setpriv --reuid=54321 --clear-groups /bin/bash -c '" + ask + "'"}});
  CHECK(job.out == "[vm:0] 8\n[vm:0] 0\n");
  CHECK_MESSAGE(
      count_of("store: refused 127.0.0.1, whose process belongs to uid 54321", job.err) == 1,
      job.err);
}

}  // namespace e2e
