// What clients of the store do does not touch the lease: no node is lost, and others are served.
#include "tests/e2e/nodes_kit.hpp"

namespace e2e {
namespace {

/// Rank 0 of two nodes attacks the store while a lease of a second is to be kept.
void expect_one_generation(Case& test, const std::string& attack) {
  Nodes nodes{test};
  const std::string program = "[ $RANK = 0 ] || exec sleep 5; RDZV_PORT=" +
                              std::to_string(nodes.port) +
                              " exec python3 " E2E_SOURCE_DIR "/store_attacks.py " + attack;
  const auto jobs = nodes.start_all(2, {"--dead-after", "1s"}, program);
  for (Job* job : jobs) {
    CHECK_MESSAGE(job->wait() == 0, job->err);
    CHECK_MESSAGE(count_of("generation 2", job->err) == 0, job->err);
  }
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e store attack: many small appends to a large value") {
  expect_one_generation(*this, "appends");
}

TEST_CASE_FIXTURE(Case, "e2e store attack: connections that say nothing, as many as there can be") {
  expect_one_generation(*this, "connects");
}

TEST_CASE_FIXTURE(Case, "e2e store attack: many clients wait for many keys, the first comes last") {
  expect_one_generation(*this, "waits");
}

}  // namespace e2e
