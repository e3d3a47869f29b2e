#include "launcher/devices/cores.hpp"

#include "launcher/allocation/allocation.hpp"
#include "launcher/text/text_of_count.hpp"

#include <fmt/format.h>

namespace ddprun {
namespace {

/// Whether Slurm lets the task use all cores of its step.
bool is_unbound(const Environment& environment) {
  return find_variable(environment, "SLURM_CPU_BIND_TYPE") == "none";
}

}  // namespace

bool has_own_cores(const Environment& environment, int core_count) {
  const auto all = count_in(environment, "SLURM_CPUS_ON_NODE");
  return all && core_count < *all;
}

std::string idle_gpus_note(int gpu_count, int worker_count, const std::string& asked) {
  if (worker_count >= gpu_count) return {};
  return fmt::format(
      "workers are told {} of the {} GPUs that are visible here: --nproc-per-node is {}; write gpu "
      "for a worker on each",
      worker_count,
      gpu_count,
      asked);
}

std::string few_cores_note(int core_count, int worker_count, int gpu_count) {
  if (gpu_count == 0 && core_count < worker_count) {
    return fmt::format(
        "{} share {} of this node; allow this process more (taskset, the container's or the job's "
        "cores), or start fewer workers",
        text_of_count(worker_count, "worker"),
        text_of_count(core_count, "core"));
  }
  if (gpu_count == 0 || core_count > worker_count) return {};
  return fmt::format(
      "{} with GPUs may use {} of this node: none is left to load data; allow this process more "
      "(taskset, the container's or the job's cores), or start fewer workers",
      text_of_count(worker_count, "worker"),
      text_of_count(core_count, "core"));
}

std::string core_note(const Environment& environment, int worker_count, int core_count) {
  if (!environment.contains("SLURM_JOB_ID") || !environment.contains("SLURMD_NODENAME")) return {};
  const bool is_step = is_in_step(environment);
  const std::int64_t asked = count_in(environment, "SLURM_CPUS_PER_TASK").value_or(0);
  if (is_step && core_count < asked) {
    return fmt::format(
        "a task of this step has {}, not the {} of --cpus-per-task: srun of Slurm 22.05 to 23.02 "
        "does not inherit them from the script; add export "
        "SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK before srun, or write srun --cpu-bind=none",
        text_of_count(core_count, "core"),
        asked);
  }
  if (core_count >= worker_count) return {};
  const std::string shared = fmt::format(
      "{} workers of this node share {}", worker_count, text_of_count(core_count, "core"));
  const std::int64_t all = count_in(environment, "SLURM_CPUS_ON_NODE").value_or(0);
  if (is_step && core_count < all && !is_unbound(environment)) {
    return fmt::format(
        "{}, to which srun has bound the task, but the job has {} here; write srun "
        "--cpu-bind=none",
        shared,
        all);
  }
  return fmt::format(
      "{}; add #SBATCH --cpus-per-task={}{}",
      shared,
      worker_count,
      is_step ? ", and export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK before srun" : "");
}

}  // namespace ddprun
