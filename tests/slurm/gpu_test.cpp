// Which GPUs and cores workers get from Slurm, in scripts and in steps, and what is said where the
// script's words do not give them what they seem to.
#include "tests/slurm/slurm_cluster.hpp"

#include <doctest/doctest.h>

#include <string>

namespace slurm {
namespace {

constexpr const char* worker_text = R"sh(#!/bin/sh
own="gpu ${DDPRUN_DEVICE-none} of ${CUDA_VISIBLE_DEVICES-all}"
echo "$RANK: $LOCAL_RANK of $LOCAL_WORLD_SIZE, $own"
)sh";

/// Short jobs, one after the other, on nodes with 2 GPUs and 4 cores each.
class GpuJobs {
 public:
  explicit GpuJobs(int node_count, Binding binding = Binding::none)
      : slurm_(node_count, {}, binding) {
    (void)slurm_.test().script("see", worker_text);
    slurm_.show_gpus();
  }

  [[nodiscard]] SlurmCluster& slurm() { return slurm_; }

  /// Waits for a script with these options, and checks that a line of what it prints ends with
  /// each of these.
  void run(const Words& options, const std::string& script, const Words& line_ends = {}) {
    job_ = slurm_.submit(script + "\necho status $?\n", options);
    (void)slurm_.wait_for_end(job_);
    for (const std::string& end : line_ends) has(end + "\n");
  }

  /// Checks that it has printed that, too.
  void has(const std::string& text, std::size_t count = 1) {
    slurm_.expect_output(job_, text, count);
  }

 private:
  SlurmCluster slurm_;
  int job_ = 0;  // the newest
};

const std::string own_ddprun = E2E_DDPRUN;
const std::string see = own_ddprun + " ./see";
const std::string see_by_gpu = own_ddprun + " --nproc-per-node=gpu ./see";
const std::string one_each = "of the 2 GPUs that Slurm has given the job on this node: LOCAL_RANK";

}  // namespace

TEST_CASE("slurm: a script's workers share the GPUs that it asked for, in whatever words") {
  if (!can_run_slurm()) return;
  GpuJobs jobs(1);
  for (const Words& words : {Words{"--gres=gpu:2"},
                             Words{"--gpus-per-node=2"},
                             Words{"--gpus-per-task=1", "--ntasks-per-node=2"}}) {
    jobs.run(words, see_by_gpu, {"0: 0 of 2, gpu 0 of 0,1", "1: 1 of 2, gpu 1 of 0,1"});
    jobs.has("status 0");
  }
  jobs.run(
      {"--gres=gpu:1"}, own_ddprun + " --nproc-per-node=auto ./see", {"0: 0 of 1, gpu 0 of 0"});
  jobs.run({"--gres=gpu:1"}, "unset CUDA_VISIBLE_DEVICES\n" + see, {"0: 0 of 1, gpu 0 of 0"});
  jobs.has("CUDA_VISIBLE_DEVICES is not set, and this node has 2 GPUs: workers get 0");
}

TEST_CASE("slurm: agents find the GPUs that are the job's on their own node") {
  if (!can_run_slurm()) return;
  GpuJobs jobs(2);
  SlurmCluster& slurm = jobs.slurm();
  const int other = slurm.submit(wait_for_file("over"), {"--nodelist=n0", "--gres=gpu:1"});
  slurm.wait_until("other job", [&] { return slurm.job(other)["JobState"] == "RUNNING"; });
  for (const Words& words :
       {Words{"--gpus-per-node=1"}, Words{"--gpus-per-task=1", "--ntasks-per-node=1"}}) {
    jobs.run(
        words + Words{"--nodes=2"}, see_by_gpu, {"0: 0 of 1, gpu 0 of 1", "1: 0 of 1, gpu 0 of 0"});
  }
  slurm.test().write("over", "");
  (void)slurm.wait_for_end(other);
  for (const Words& words :
       {Words{"--gpus-per-task=1", "--ntasks-per-node=2"}, Words{"--gpus=4"}}) {
    jobs.run(words + Words{"--nodes=2"},
             see_by_gpu,
             {"0: 0 of 2, gpu 0 of 0,1", "3: 1 of 2, gpu 1 of 0,1"});
  }
  jobs.run({"--gpus-per-node=2", "--nodes=2"},
           "export CUDA_VISIBLE_DEVICES=1\n" + see,
           {"1: 0 of 1, gpu 0 of 0,1"});
  jobs.run({"--gpus=3", "--nodes=2"}, see_by_gpu);
  jobs.has("Slurm has not given out the job's --gpus=3 evenly to its 2 nodes");
  jobs.has("status 2");
}

TEST_CASE("slurm: tasks that share GPUs have numbers for them, and the others one GPU each") {
  if (!can_run_slurm()) return;
  GpuJobs jobs(1);
  const Words tasks{"--ntasks-per-node=2", "--gres=gpu:2"};
  jobs.run(tasks, "srun " + see, {"0: 0 of 2, gpu 0 of 0,1", "1: 1 of 2, gpu 1 of 0,1"});
  jobs.run(
      tasks, "srun --gpus-per-task=1 " + see, {"0: 0 of 1, gpu 0 of 0", "1: 0 of 1, gpu 0 of 1"});
  jobs.has("each task sees 1 " + one_each);
  jobs.run(tasks,
           "srun --gpu-bind=map_gpu:1,0 " + see,
           {"0: 0 of 1, gpu 0 of 1", "1: 0 of 1, gpu 0 of 0"});
  jobs.run(tasks,
           "srun --gpu-bind=single:1 " + see_by_gpu,
           {"0: 0 of 1, gpu 0 of 0", "1: 0 of 1, gpu 0 of 1"});
  jobs.run(tasks,
           "srun --gpus-per-task=1 --gpu-bind=none " + see,
           {"0: 0 of 2, gpu 0 of all", "1: 1 of 2, gpu 1 of all"});
}

TEST_CASE("slurm: GPUs that are not the job's are not counted, and it is said what to write") {
  if (!can_run_slurm()) return;
  GpuJobs jobs(1);
  jobs.run({}, see_by_gpu);
  jobs.has(
      "no GPU on this node, whose 2 GPUs are visible; add #SBATCH "
      "--gpus-per-node=N");
  jobs.has("status 2");
  jobs.run({}, see, {"0: 0 of 1, gpu none of all"});
  jobs.has("no GPU on this node, whose 2 GPUs are visible");
  jobs.run({}, "srun " + see_by_gpu);
  jobs.has("add #SBATCH --gpus-per-node=N");
  jobs.run({"--gres=gpu:1", "--ntasks-per-node=2"}, "srun --gpu-bind=none " + see_by_gpu);
  jobs.has("1 of 2 GPUs on this node, but does not reveal which; write --gpus-per-node", 2);
}

TEST_CASE("slurm: a dry run shows the GPUs that there would be") {
  if (!can_run_slurm()) return;
  GpuJobs jobs(1);
  jobs.run({"--gres=gpu:2"},
           own_ddprun + " --dry-run --nproc-per-node=gpu ./see",
           {"DDPRUN_DEVICE=1 LOCAL_RANK=1 RANK=1 ROLE_RANK=1 ./see"});
  jobs.run({"--ntasks-per-node=2", "--gres=gpu:2"},
           "srun --gpus-per-task=1 " + own_ddprun + " --dry-run ./see",
           {"export RANK=0", "export RANK=1"});
  jobs.has("export DDPRUN_DEVICE=0\n", 2);
  jobs.has("Note: each task sees 1 " + one_each);
}

TEST_CASE("slurm: workers on too few cores are told of once, with what to write") {
  if (!can_run_slurm()) return;
  GpuJobs jobs(1, Binding::cores);
  const std::string two = own_ddprun + " --nproc-per-node=2 ./see";
  const Words asking{"--ntasks=1", "--cpus-per-task=2"};
  const std::string not_taken_over = "has 1 core, not the 2 of --cpus-per-task";
  const std::string shared = "2 workers of this node share 1 core";
  jobs.run(asking, "srun --cpu-bind=cores " + two);
  jobs.has(not_taken_over);
  jobs.run(asking, "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\nsrun --cpu-bind=cores " + two);
  jobs.has(not_taken_over, 0);
  jobs.has(shared, 0);
  jobs.run(asking, "srun --cpu-bind=none " + two);
  jobs.has(not_taken_over, 0);
  jobs.has(shared, 0);
  jobs.run({"--ntasks=2"}, "srun --ntasks=1 --cpu-bind=cores " + two);
  jobs.has(shared +
           ", to which srun has bound the task, but the job has 2 here; write srun "
           "--cpu-bind=none");
  jobs.run({"--ntasks=1"}, two);
  jobs.has(shared + "; add #SBATCH --cpus-per-task=2");
  jobs.run({"--ntasks=2"}, "srun --cpu-bind=cores " + see);
  jobs.has("status 0");
  jobs.has("--cpus-per-task", 0);
}

}  // namespace slurm
