// The Slurm job around this process, from its environment: whether this is a batch script or a
// task of a step, and which nodes there are. Pure.
#pragma once

#include "launcher/text/environment.hpp"
#include "rendezvous/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddprun {

enum class Situation : std::uint8_t {
  script,  ///< A batch script, or a shell of salloc: nothing runs on the other nodes yet.
  task,    ///< One of the tasks that srun has started.
};

struct Allocation {
  Situation situation = Situation::script;
  std::string job_id;
  std::vector<std::string> nodes;   ///< Of the script's job or the task's step, in Slurm's order.
  std::string own_node;             ///< As Slurm calls it; empty on a host that is none of them.
  std::string submit_folder;        ///< Empty: unknown.
  std::int64_t restarts_count = 0;  ///< How often Slurm has run the job before.

  // Of a task only.
  std::string step_id;
  int task = 0;  ///< Its number in the step.
  int task_count = 1;
  int local_task = 0;  ///< Its number on its node.
  int tasks_here = 1;
  int tasks_per_node_max = 1;

  friend bool operator==(const Allocation&, const Allocation&) = default;

  /// Whether this process is the whole job: there is no other node or task.
  [[nodiscard]] bool is_alone() const;

  /// "batch script of Slurm job 12 on 4 nodes".
  [[nodiscard]] std::string text() const;
};

/// Nothing outside of Slurm. An error if variables of Slurm contradict each other or are
/// invalid, and for jobs that ddprun does not support: heterogeneous ones, and shells on a terminal
/// that are one of several tasks.
[[nodiscard]] Result<std::optional<Allocation>> read_allocation(const Environment& environment);

/// How often Slurm has run this process's job before; 0 outside of Slurm. An error if its variable
/// is no number.
[[nodiscard]] Result<std::int64_t> slurm_restarts(const Environment& environment);

/// Whether srun has started this process, or one that it descends from, as part of a step.
[[nodiscard]] bool is_in_step(const Environment& environment);

/// The port where the tasks of a step meet on its first node: the same for all of them, different
/// for each of the next thousands of jobs, and never one of the kernel's ephemeral ports.
[[nodiscard]] std::uint16_t port_of_step(const Allocation& task);

}  // namespace ddprun
