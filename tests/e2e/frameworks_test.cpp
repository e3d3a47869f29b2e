// Scripts that know nothing of ddprun and find their processes by what torchrun gives them, run by
// torchrun and then by ddprun, nothing else changed. TEST_PYTHON and TEST_TORCHRUN name those of an
// environment with the frameworks.
#include "tests/e2e/kit.hpp"

#include <cstdlib>

namespace e2e {
namespace {

/// Importing a framework takes each process seconds, and many more beside other work.
class FrameworkCase : public Case {
 public:
  FrameworkCase() : Case(std::chrono::seconds(140)) {}

  bool has(const std::string& framework) {
    const char* const python = std::getenv("TEST_PYTHON");
    const char* const torchrun = std::getenv("TEST_TORCHRUN");
    if (python != nullptr && torchrun != nullptr) {
      python_ = python;
      torchrun_ = torchrun;
      const std::string find =
          "import importlib.util, sys; sys.exit(not importlib.util.find_spec('" + framework + "'))";
      if (run(Setup{.arguments = {"-c", find}, .program = python_}).status() == 0) return true;
    }
    MESSAGE("skipped: no ", framework, ", which comes from PyPI here");
    return false;
  }

  /// What rank 0 prints of the script's result, without the prefix.
  std::string result_by(const std::string& launcher, const Words& script) {
    const Words line = Words{"--standalone", "--nproc-per-node=2"} + script;
    const Job& job = run(Setup{.arguments = line,
                               .environment = {{"PYTHON_EXEC", python_}, {"OMP_NUM_THREADS", "1"}},
                               .program = launcher});
    CHECK_MESSAGE(job.status() == 0, job.out, job.err);
    const std::size_t at = job.out.find("2 processes, loss ");
    REQUIRE_MESSAGE(at != std::string::npos, job.out, job.err);
    return job.out.substr(at, job.out.find('\n', at) - at);
  }

  void leads_to_the_same(const Words& script) {
    const std::string result = result_by(torchrun_, script);
    MESSAGE(result);
    CHECK(result_by(E2E_DDPRUN, script) == result);
  }

 private:
  std::string python_;
  std::string torchrun_;
};

}  // namespace

TEST_CASE_FIXTURE(FrameworkCase, "e2e frameworks: a fit by Lightning is the same as by torchrun") {
  if (!has("lightning")) return;
  leads_to_the_same({E2E_SOURCE_DIR "/frameworks/lightning_fit.py"});
}

TEST_CASE_FIXTURE(FrameworkCase, "e2e frameworks: a fit by accelerate is the same as by torchrun") {
  if (!has("accelerate")) return;
  leads_to_the_same({E2E_SOURCE_DIR "/frameworks/accelerate_fit.py",
                     "--num_train_epochs=3",
                     "--learning_rate=0.2"});
}

}  // namespace e2e
