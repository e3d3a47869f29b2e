// How long a job stands still when it loses a node, with ddprun's own times: from that moment until
// the last worker of the next generation runs. No test: it judges nothing, and runs by its name
// alone, `slurm_tests -tc='slurm bench: a node*'`.
#include "tests/slurm/training.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace slurm {
namespace {

using e2e::Clock;

constexpr int losses_each = 9;

int submit_script(Training& training) {
  return training.submit({"--nnodes=2:4"}, {"--nodes=4", "--no-kill"});
}

int submit_step(Training& training) {
  return training.submit_command(
      "srun --overlap --no-kill --kill-on-bad-exit=0 --relative=1 "
      "--nodes=3 --ntasks=3 " E2E_DDPRUN " --nnodes=2:3",
      {"--nodes=4", "--no-kill"});
}

/// The node is none that a script of Slurm runs on.
void measure(const char* what,
             int (*submit)(Training&),
             std::size_t workers,
             int node,
             void (hosts::Host::*lose)()) {
  std::vector<double> seconds;
  for (int round = 0; round < losses_each; ++round) {
    Training training(4);
    const int job = submit(training);
    training.generation(1, workers);
    const auto lost = Clock::now();
    (training.slurm()[node].*lose)();
    training.generation(2, workers - 1);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - lost).count());
    if (training.slurm()[node].on()) training.slurm()[node].rejoin();
    training.finish();
    training.slurm().wait_for_end(job);
  }
  std::ranges::sort(seconds);
  std::printf("| %s | %.2f | %.2f | %.2f |\n",
              what,
              seconds.front(),
              seconds.at(seconds.size() / 2),
              seconds.back());
}

}  // namespace

TEST_CASE("slurm bench: a node is lost, and the next generation begins") {
  if (!can_run_slurm()) return;
  std::printf("| what | least s | median s | most s |\n");
  measure("power-off, batch script", submit_script, 4, 3, &hosts::Host::power_off);
  measure("cut off, batch script", submit_script, 4, 3, &hosts::Host::isolate);
  measure("power-off of a step's first node", submit_step, 3, 1, &hosts::Host::power_off);
}

}  // namespace slurm
