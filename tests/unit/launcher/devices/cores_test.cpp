#include "launcher/devices/cores.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

Environment script(const Environment& more = {}) {
  Environment all{{"SLURM_JOB_ID", "12"}, {"SLURMD_NODENAME", "n0"}};
  all.insert(more.begin(), more.end());
  return all;
}

Environment step(const Environment& more = {}) {
  Environment all = script(more);
  all["SLURM_STEP_ID"] = "0";
  return all;
}

TEST_CASE("cores: nothing is said where all is well, and nothing outside of a job's nodes") {
  CHECK(core_note({}, 8, 1).empty());
  CHECK(core_note({{"SLURM_JOB_ID", "12"}}, 8, 1).empty());
  CHECK(core_note(script(), 2, 2).empty());
  CHECK(core_note(step(), 4, 8).empty());
  CHECK(core_note(step({{"SLURM_CPUS_PER_TASK", "8"}}), 4, 8).empty());
  CHECK(core_note(step({{"SLURM_CPUS_PER_TASK", "many"}}), 1, 1).empty());
}

TEST_CASE("cores: a step that has not inherited what the script asked for") {
  const std::string note =
      "a task of this step has 1 core, not the 8 of --cpus-per-task: srun of Slurm 22.05 to 23.02 "
      "does not inherit them from the script; add export "
      "SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK before srun, or write srun --cpu-bind=none";
  CHECK(core_note(step({{"SLURM_CPUS_PER_TASK", "8"}}), 1, 1) == note);
  CHECK(core_note(step({{"SLURM_CPUS_PER_TASK", "8"}}), 4, 1) == note);
  CHECK(core_note(script({{"SLURM_CPUS_PER_TASK", "8"}}), 1, 1).empty());
}

TEST_CASE("cores: a task that is bound to fewer than the job has") {
  const Environment bound = step({{"SLURM_CPUS_ON_NODE", "8"}});
  CHECK(core_note(bound, 4, 1) ==
        "4 workers of this node share 1 core, to which srun has bound the task, but the job has 8 "
        "here; write srun --cpu-bind=none");
  CHECK(core_note(bound, 1, 1).empty());
}

TEST_CASE("cores: a job that has fewer than workers") {
  CHECK(core_note(script({{"SLURM_CPUS_ON_NODE", "1"}}), 4, 1) ==
        "4 workers of this node share 1 core; add #SBATCH --cpus-per-task=4");
  const std::string both =
      "4 workers of this node share 2 cores; add #SBATCH --cpus-per-task=4, and export "
      "SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK before srun";
  CHECK(core_note(step({{"SLURM_CPUS_ON_NODE", "2"}}), 4, 2) == both);
  CHECK(core_note(step({{"SLURM_CPUS_ON_NODE", "8"}, {"SLURM_CPU_BIND_TYPE", "none"}}), 4, 2) ==
        both);
}

TEST_CASE("cores: workers without GPUs need a core each") {
  CHECK(few_cores_note(8, 8, 0).empty());
  CHECK(few_cores_note(2, 8, 0) ==
        "8 workers share 2 cores of this node; allow this process more (taskset, the container's "
        "or the job's cores), or start fewer workers");
}

TEST_CASE("cores: workers with GPUs need a core more than there are workers") {
  CHECK(few_cores_note(9, 8, 8).empty());
  const std::string fix =
      " of this node: none is left to load data; allow this process more (taskset, the container's "
      "or the job's cores), or start fewer workers";
  CHECK(few_cores_note(8, 8, 8) == "8 workers with GPUs may use 8 cores" + fix);
  CHECK(few_cores_note(1, 1, 1) == "1 worker with GPUs may use 1 core" + fix);
}

TEST_CASE("cores: GPUs that no worker is told are named, with where the number comes from") {
  CHECK(idle_gpus_note(4, 4, "").empty());
  CHECK(idle_gpus_note(0, 1, "").empty());
  CHECK(idle_gpus_note(2, 3, "").empty());
  CHECK(idle_gpus_note(8, 2, "2 from the command line") ==
        "workers are told 2 of the 8 GPUs that are visible here: --nproc-per-node is 2 from the "
        "command line; write gpu for a worker on each");
}

TEST_CASE("cores: a task has cores of its own if Slurm's job has more") {
  CHECK(has_own_cores({{"SLURM_CPUS_ON_NODE", "8"}}, 4));
  CHECK_FALSE(has_own_cores({{"SLURM_CPUS_ON_NODE", "8"}}, 8));
  CHECK_FALSE(has_own_cores({}, 4));
}

}  // namespace
}  // namespace ddprun
