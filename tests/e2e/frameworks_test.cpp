// Scripts that know nothing of ddprun and find their processes by what torchrun or Slurm gives
// them, run as before and then by ddprun, nothing else changed. Some have the shape of a course's
// script. TEST_PYTHON and TEST_TORCHRUN name those of an environment with the frameworks.
#include "tests/e2e/nodes_kit.hpp"

#include <cstdlib>

namespace e2e {
namespace {

using Variables = std::map<std::string, std::string>;

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

  [[nodiscard]] const std::string& python() const { return python_; }

  [[nodiscard]] Setup by_torchrun(const Words& line) const {
    return {.arguments = line, .program = torchrun_};
  }
  [[nodiscard]] static Setup by_ddprun(const Words& line, const Variables& variables = {}) {
    return {.arguments = line, .environment = variables};
  }
  [[nodiscard]] Setup by_python(const Words& line, const Variables& variables = {}) const {
    return {.arguments = line, .environment = variables, .program = python_};
  }

  /// Each way by processes that are started together.
  void lead_to_the_same(const std::vector<std::vector<Setup>>& ways) {
    const std::string result = result_of(ways.at(0));
    MESSAGE(result);
    for (std::size_t i = 1; i < ways.size(); ++i) CHECK(result_of(ways[i]) == result);
  }
  void leads_to_the_same(const Words& line) {
    lead_to_the_same({{by_torchrun(line)}, {by_ddprun(line)}});
  }

 private:
  /// What rank 0 prints of the script's result, without the prefix.
  std::string result_of(std::vector<Setup> setups) {
    for (const char* left : {"snapshot.pt", "logs", "checkpoints"}) {
      std::filesystem::remove_all(folder() / left);
    }
    std::vector<Job*> jobs;
    for (Setup& setup : setups) {
      // With the last, torchrun's workers do not meet by the addresses of those that have failed.
      setup.environment.insert({{"PYTHON_EXEC", python_},
                                {"OMP_NUM_THREADS", "1"},
                                {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}});
      jobs.push_back(&start(setup));
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

std::string fit(const std::string& name) {
  return E2E_SOURCE_DIR "/frameworks/" + name + "_fit.py";
}

/// Of the batch script of a Slurm job with two tasks on this node.
Variables script_of_job(int job) {
  return {{"SLURM_JOB_ID", std::to_string(job)},
          {"SLURM_JOB_NAME", "fit"},
          {"SLURM_JOB_NODELIST", "localhost"},
          {"SLURM_NODELIST", "localhost"},
          {"SLURMD_NODENAME", "localhost"},
          {"SLURM_NNODES", "1"},
          {"SLURM_NTASKS", "2"},
          {"SLURM_NTASKS_PER_NODE", "2"},
          {"SLURM_TASKS_PER_NODE", "2"}};
}

/// Of a task that srun has started in it.
Variables task_of_step(int job, int step, int task) {
  Variables all = script_of_job(job);
  all.insert({{"SLURM_STEP_ID", std::to_string(step)},
              {"SLURM_STEP_NODELIST", "localhost"},
              {"SLURM_NODEID", "0"},
              {"SLURM_PROCID", std::to_string(task)},
              {"SLURM_LOCALID", std::to_string(task)}});
  return all;
}

}  // namespace

TEST_CASE_FIXTURE(FrameworkCase,
                  "e2e frameworks: a fit by Lightning is the same as by torchrun and by srun") {
  if (!has("lightning")) return;
  const Words script{fit("lightning")};
  const int job = 12;
  std::vector<Setup> by_srun;
  const std::string port = std::to_string(free_port());
  for (const int task : {0, 1}) {
    Variables variables = task_of_step(job, 0, task);
    variables["MASTER_PORT"] = port;  // else one that follows from the job's number
    by_srun.push_back(by_python(script, variables));
  }
  lead_to_the_same({by_srun,
                    {by_torchrun(on_one_node + script)},
                    {by_ddprun(Words{"--nproc-per-node=2"} + script, script_of_job(job))}});
}

TEST_CASE_FIXTURE(FrameworkCase, "e2e frameworks: a fit by accelerate is the same as by torchrun") {
  if (!has("accelerate")) return;
  leads_to_the_same(on_one_node +
                    Words{fit("accelerate"), "--num_train_epochs=3", "--learning_rate=0.2"});
}

TEST_CASE_FIXTURE(FrameworkCase,
                  "e2e frameworks: a fit by Hugging Face's Trainer is the same as by torchrun") {
  if (!has("transformers")) return;
  leads_to_the_same(on_one_node + Words{fit("trainer"),
                                        "--use_cpu",
                                        "--num_train_epochs=2",
                                        "--learning_rate=0.1",
                                        "--per_device_train_batch_size=4",
                                        "--save_strategy=no",
                                        "--report_to=none"});
}

TEST_CASE_FIXTURE(FrameworkCase,
                  "e2e frameworks: a fit by DDP goes on from its snapshot, as by torchrun") {
  if (!has("torch")) return;
  leads_to_the_same(on_one_node + Words{"--max-restarts=1", fit("ddp"), "5", "2", "--fail-once"});
}

/// The line of PyTorch's tutorials on elastic jobs, the same on both nodes.
TEST_CASE_FIXTURE(FrameworkCase, "e2e frameworks: a fit by DDP on two nodes, as by torchrun") {
  if (!has("torch")) return;
  const Words line{"--nnodes=2",
                   "--nproc_per_node=1",
                   "--rdzv_id=100",
                   "--rdzv_backend=c10d",
                   "--rdzv_endpoint=localhost:" + std::to_string(free_port()),
                   fit("ddp"),
                   "4",
                   "2"};
  lead_to_the_same({{by_torchrun(line), by_torchrun(line)}, {by_ddprun(line), by_ddprun(line)}});
}

TEST_CASE_FIXTURE(FrameworkCase,
                  "e2e frameworks: frozen layers, a profile and curves, as by torchrun's module") {
  if (!has("tensorboard")) return;
  const Words line{"--standalone", "--nnodes=1", "--nproc_per_node=2", fit("features")};
  lead_to_the_same({{by_python(Words{"-m", "torch.distributed.run"} + line)}, {by_ddprun(line)}});
}

/// torchrun's workers, and so ddprun's, use the launcher's store at the script's port, unless told.
TEST_CASE_FIXTURE(FrameworkCase,
                  "e2e frameworks: a fit that goes by Slurm's variables and its own port") {
  if (!has("torch")) return;
  // The tasks meet at the port 10000 + 64 * job + step.
  int place = free_port() - 10'000;
  while (place >= 18'997) place = free_port() - 10'000;
  const std::string port = std::to_string(free_port());
  std::vector<Setup> before;
  std::vector<Setup> after;
  for (const int task : {0, 1}) {
    const Variables variables = task_of_step(place / 64, place % 64, task);
    const Words script{fit("slurm"), port};
    before.push_back(by_python(script, variables));
    after.push_back(by_ddprun(Words{"env", "-u", "TORCHELASTIC_USE_AGENT_STORE", python()} + script,
                              variables));
  }
  lead_to_the_same({before, after});
}

}  // namespace e2e
