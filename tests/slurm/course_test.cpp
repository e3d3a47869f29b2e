// The batch scripts of the examples that follow courses, with the real programs and made-up data.
#include "tests/slurm/slurm_cluster.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace slurm {
namespace {

/// Submits examples/NAME/batch.sh with `arguments`, which end the job after two steps of 2 nodes,
/// and checks its last line.
void expect_two_steps(const std::string& name, const Words& arguments) {
  SlurmCluster slurm(2);
  const std::filesystem::path ddprun = E2E_DDPRUN;
  const Words submission{"sbatch",
                         "--parsable",
                         "--output=job.%j",
                         "--export=ALL,PATH=" + ddprun.parent_path().string() + ":/usr/bin:/bin",
                         SLURM_COURSES "/" + name + "/batch.sh",
                         "--synthetic",
                         "--steps=2"};
  const int job = std::stoi(slurm.ask(submission + arguments));
  CHECK(slurm.wait_for_end(job).at("JobState") == "COMPLETED");
  slurm.expect_output(job, "result: epochs=0 steps=2 loss=");
}

}  // namespace

TEST_CASE("slurm: the batch script of examples/cifar100") {
  if (!can_run_slurm()) return;
  expect_two_steps("cifar100", {"--net=resnet18", "--side=33", "--batch-size=2"});
}

}  // namespace slurm
