// How long the tasks of a job take to start from its batch script, in three ways, and what that
// costs the script's node.
#pragma once

#include "tests/slurm/slurm_cluster.hpp"

#include <string>

namespace slurm {

/// The ddprun that benches measure: the one that SLURM_BENCH_DDPRUN names, else that of the tests.
[[nodiscard]] std::string measured_ddprun();

struct StartRounds {
  int node_count = 1;  ///< With a task each, on the cluster's first nodes.
  int count = 1;
};

/// The head of a table, and its rows for ddprun, one srun of all tasks (`step`), and one srun for
/// each node at once (`steps`), which run in turns: from the line of the script until the last task
/// has read the clock; ddprun's ratio to it within rounds; and the processor time of what the line
/// has started, up to its end, without Slurm's daemons. Medians, the middle half in brackets.
void print_start_head();
void print_start_times(SlurmCluster& slurm, const StartRounds& rounds);

/// "n[0-3]", for sbatch.
[[nodiscard]] std::string first_nodes(int count);

}  // namespace slurm
