#include "launcher/allocation/step_gpus.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

using Counts = std::vector<int>;

Counts asked_for(const Environment& environment, std::size_t node_count = 2) {
  return gpus_of_steps(environment, node_count).value();
}

TEST_CASE("step gpus: a job without GPUs, or with so many a node, needs no number") {
  CHECK(asked_for({}).empty());
  CHECK(asked_for({{"SLURM_GPUS", "0"}}).empty());
  CHECK(asked_for({{"SLURM_GPUS_PER_NODE", "4"}, {"SLURM_GPUS_ON_NODE", "4"}}).empty());
  CHECK(asked_for({{"SLURM_GPUS_PER_TASK", "1"}}).empty());
}

TEST_CASE("step gpus: of so many a task a node has those of its tasks") {
  CHECK(asked_for({{"SLURM_GPUS_PER_TASK", "2"}, {"SLURM_TASKS_PER_NODE", "2(x2),1"}}, 3) ==
        Counts{4, 4, 2});
  CHECK(asked_for({{"SLURM_GPUS_PER_TASK", "a100:1"}, {"SLURM_TASKS_PER_NODE", "3,1"}}) ==
        Counts{3, 1});
  for (const char* each : {"a:1,b:1", "", "x", "-1", "1025"}) {
    CAPTURE(each);
    CHECK(asked_for({{"SLURM_GPUS_PER_TASK", each}, {"SLURM_TASKS_PER_NODE", "2(x2)"}}).empty());
  }
  CHECK(asked_for({{"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_TASKS_PER_NODE", "2"}}).empty());
  CHECK_FALSE(gpus_of_steps({{"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_TASKS_PER_NODE", "2(x"}}, 2)
                  .has_value());
}

TEST_CASE("step gpus: of so many in all each node has an even share") {
  CHECK(asked_for({{"SLURM_GPUS", "4"}}) == Counts{2, 2});
  CHECK(asked_for({{"SLURM_GPUS", "a100:8"}, {"SLURM_GPUS_ON_NODE", "4"}}) == Counts{4, 4});
  CHECK(asked_for({{"SLURM_GPUS", "4"}, {"SLURM_GPUS_PER_NODE", "2"}}) == Counts{2, 2});
}

TEST_CASE("step gpus: where Slurm's share is not even, it is said what to write") {
  const Environment uneven{{"SLURM_GPUS", "4"}, {"SLURM_GPUS_ON_NODE", "3"}};
  CHECK(gpus_of_steps(uneven, 2).error().message() ==
        "Slurm has not given out the job's --gpus=4 evenly to its 2 nodes, so "
        "ddprun cannot request the share of each node; write #SBATCH --gpus-per-node=N instead of "
        "--gpus");
  CHECK_FALSE(gpus_of_steps({{"SLURM_GPUS", "3"}}, 2).has_value());
}

}  // namespace
}  // namespace ddprun
