// Real PyTorch workers, unchanged, against ddprun's store. TEST_PYTHON names the
// interpreter.
#include "tests/e2e/kit.hpp"

#include <chrono>
#include <cstdlib>

namespace e2e {
namespace {

std::string python() {
  const char* chosen = std::getenv("TEST_PYTHON");
  return chosen == nullptr ? "/usr/bin/python3" : chosen;
}

/// More time than others: a process needs seconds to import PyTorch where other work is going on.
class TorchCase : public Case {
 public:
  TorchCase() : Case(std::chrono::seconds(120)) {}

  /// Null where there is no PyTorch, which is said.
  Job* run_training(const Words& options, const std::string& part) {
    Job& job = run(Setup{.arguments = Words{"--nproc-per-node", "2"} + options +
                                      Words{E2E_SOURCE_DIR "/ddp_gloo.py", part},
                         .environment = {{"PYTHON_EXEC", python()}}});
    for (const std::string& line : lines_of(job.out)) {
      if (line.starts_with(prefix(0) + "skipped: ")) {
        MESSAGE(python(), " ", line);
        return nullptr;
      }
      const bool news = line.starts_with(prefix(0) + "operations: ");
      if (news || line.starts_with(prefix(0) + "torch ")) MESSAGE(line);
    }
    CHECK_MESSAGE(job.status() == 0, job.out, job.err);
    CHECK(count_of("] passed\n", job.out) == 2);
    CHECK_MESSAGE(count_of("store:", job.err) == 0, job.err);
    return &job;
  }
};

}  // namespace

TEST_CASE_FIXTURE(TorchCase, "e2e store: PyTorch's collectives and DDP and barrier over gloo") {
  run_training({}, "train");
}

TEST_CASE_FIXTURE(TorchCase, "e2e store: every operation of PyTorch's TCPStore") {
  run_training({}, "store");
}

TEST_CASE_FIXTURE(TorchCase,
                  "e2e store: PyTorch workers start again in a fresh store after a failure") {
  const Job* job = run_training({"--max-restarts", "1"}, "restart");
  if (job == nullptr) return;
  CHECK(count_of("generation 2 (restart 1 of 1: rank 1 ", job->err) == 1);
}

}  // namespace e2e
