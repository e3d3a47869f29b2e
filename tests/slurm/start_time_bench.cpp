// How long a job takes to start, beside a bare srun of the same step, and beside one srun for each
// node at once. No test: it judges nothing, and runs by its name alone,
// `slurm_tests -tc='slurm bench: from*'`. SLURM_BENCH_DDPRUN names another ddprun, of a release
// build.
#include "tests/slurm/start_times.hpp"

#include <doctest/doctest.h>

namespace slurm {

TEST_CASE("slurm bench: from the start in a batch script to the last worker's") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(4, {.time_max = std::chrono::seconds(300)});
  print_start_head();
  print_start_times(slurm, {.node_count = 4, .count = 25});
}

}  // namespace slurm
