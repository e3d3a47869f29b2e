// A user looks at a job that trains, from a step of his own in it, as ddprun-slurm(7) says.
#include "tests/slurm/training.hpp"

#include <doctest/doctest.h>

#include <string>

namespace slurm {
namespace {

/// Instead of nvidia-smi: says every 0.2 s which workers it sees on which node.
constexpr const char* smi_text = R"sh(#!/bin/sh
while sleep 0.2; do
  echo "$(uname -n): $(pgrep --exact --count train) workers"
done
)sh";

}  // namespace

TEST_CASE("slurm: a step that watches a job sees the node's workers and disturbs none") {
  if (!can_run_slurm()) return;
  Training training(2);
  SlurmCluster& slurm = training.slurm();
  const int job = training.submit({"--nproc-per-node=2"}, {"--nodes=2"});
  training.expect_two_each();

  const std::string smi = slurm.test().script("nvidia-smi", smi_text);
  const std::string srun = "srun --overlap --jobid=" + std::to_string(job) +
                           " --nodes=1 --ntasks=1 --nodelist=n1 --pty " + smi + " -l 5";
  hosts::Program& watch = slurm.run(
      slurm.head(), e2e::shell("script --quiet --return --command '" + srun + "' /dev/null"));
  slurm.cluster().wait_until("lines of the step",
                             [&] { return e2e::count_of("n1: 2 workers", watch.out()) >= 3; });
  CHECK(training.workers_on(0) == 2);

  training.complete(job);
  watch.wait();  // the job's end ends the step
  CHECK_FALSE(slurm.test().has("start.2.0"));
}

}  // namespace slurm
