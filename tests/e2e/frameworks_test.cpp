// Scripts that know nothing of ddprun and find their processes by what torchrun gives them, run by
// torchrun and then by ddprun, nothing else changed. TEST_PYTHON and TEST_TORCHRUN name those of an
// environment with the frameworks.
#include "tests/e2e/nodes_kit.hpp"

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

  /// Of two processes the line is that of one agent or of `agents` that are started by it.
  void leads_to_the_same(const Words& line, int agents = 1) {
    const std::string result = result_by(torchrun_, line, agents);
    MESSAGE(result);
    CHECK(result_by(E2E_DDPRUN, line, agents) == result);
  }

 private:
  /// What rank 0 prints of the script's result, without the prefix.
  std::string result_by(const std::string& launcher, Words line, int agents) {
    std::filesystem::remove(folder() / "snapshot.pt");
    for (std::string& word : line) {
      if (word == "--rdzv_endpoint=localhost:PORT") {
        word = "--rdzv_endpoint=localhost:" + std::to_string(free_port());
      }
    }
    // With the last, torchrun's workers do not meet by the addresses of those that have failed.
    const std::map<std::string, std::string> environment{
        {"PYTHON_EXEC", python_},
        {"OMP_NUM_THREADS", "1"},
        {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}};
    std::vector<Job*> jobs;
    for (int i = 0; i < agents; ++i) {
      jobs.push_back(
          &start(Setup{.arguments = line, .environment = environment, .program = launcher}));
    }
    std::string out;
    for (Job* job : jobs) {
      CHECK_MESSAGE(job->wait() == 0, job->out, job->err);
      out += job->out;
    }
    const std::size_t at = out.find("2 processes, loss ");
    REQUIRE_MESSAGE(at != std::string::npos, out, jobs[0]->err);
    return out.substr(at, out.find('\n', at) - at);
  }

  std::string python_;
  std::string torchrun_;
};

const Words on_one_node{"--standalone", "--nproc-per-node=2"};

}  // namespace

TEST_CASE_FIXTURE(FrameworkCase, "e2e frameworks: a fit by Lightning is the same as by torchrun") {
  if (!has("lightning")) return;
  leads_to_the_same(on_one_node + Words{E2E_SOURCE_DIR "/frameworks/lightning_fit.py"});
}

TEST_CASE_FIXTURE(FrameworkCase, "e2e frameworks: a fit by accelerate is the same as by torchrun") {
  if (!has("accelerate")) return;
  leads_to_the_same(on_one_node + Words{E2E_SOURCE_DIR "/frameworks/accelerate_fit.py",
                                        "--num_train_epochs=3",
                                        "--learning_rate=0.2"});
}

TEST_CASE_FIXTURE(FrameworkCase,
                  "e2e frameworks: a fit by DDP goes on from its snapshot, as by torchrun") {
  if (!has("torch")) return;
  leads_to_the_same(
      on_one_node +
      Words{"--max-restarts=1", E2E_SOURCE_DIR "/frameworks/ddp_fit.py", "5", "2", "--fail-once"});
}

TEST_CASE_FIXTURE(FrameworkCase, "e2e frameworks: a fit by DDP on two nodes, as by torchrun") {
  if (!has("torch")) return;
  const int agents = 2;
  leads_to_the_same({"--nnodes=2",
                     "--nproc_per_node=1",
                     "--rdzv_id=100",
                     "--rdzv_backend=c10d",
                     "--rdzv_endpoint=localhost:PORT",
                     E2E_SOURCE_DIR "/frameworks/ddp_fit.py",
                     "4",
                     "2"},
                    agents);
}

}  // namespace e2e
