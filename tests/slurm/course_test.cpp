// The batch scripts of the examples that follow courses: the real programs on made-up data, for a
// step or two.
#include "tests/slurm/training.hpp"

#include <doctest/doctest.h>

#include <string>

namespace slurm {
namespace {

const Words two_gpus{"--nodes=2", "--gpus-per-node=1", "--cpus-per-task=1"};
const Words few_pictures{"--synthetic", "--side=33", "--batch-size=2", "--images=4", "--steps=1"};

/// Submits examples/NAME/batch.sh to two nodes, of which each has two GPUs.
void expect_result(const std::string& name,
                   const Words& sbatch_options,
                   const Words& arguments,
                   const std::string& result) {
  Training training(2);
  training.slurm().show_gpus();
  const std::string script = std::string(SLURM_COURSES) + "/" + name + "/batch.sh";
  const int job = training.submit_file(script, sbatch_options, arguments);
  CHECK_MESSAGE(training.slurm().wait_for_end(job).at("JobState") == "COMPLETED",
                training.slurm().output(job));
  training.slurm().expect_output(job, "result: " + result);
}

}  // namespace

TEST_CASE("slurm: the batch script of examples/toy") {
  if (!can_run_slurm()) return;
  expect_result("toy", {}, {"--steps=20"}, "epochs=");
}

TEST_CASE("slurm: the batch script of examples/cifar100") {
  if (!can_run_slurm()) return;
  expect_result("cifar100",
                {},
                {"--synthetic", "--net=resnet18", "--side=33", "--batch-size=2", "--steps=2"},
                "epochs=0 steps=2 loss=");
}

TEST_CASE("slurm: the batch script of examples/dogs_vs_cats") {
  if (!can_run_slurm()) return;
  expect_result("dogs_vs_cats", two_gpus, few_pictures + Words{"--width=8"}, "epochs=");
}

TEST_CASE("slurm: the batch script of examples/hymenoptera") {
  if (!can_run_slurm()) return;
  expect_result("hymenoptera", two_gpus, few_pictures, "epochs=1 steps=1 loss=");
}

TEST_CASE("slurm: the batch script of examples/imagenet") {
  if (!can_run_slurm()) return;
  expect_result("imagenet",
                two_gpus,
                few_pictures + Words{"--layers=18", "--classes=2"},
                "epochs=1 steps=1 loss=");
}

TEST_CASE("slurm: the batch script of examples/lightning has a worker for each GPU of its job") {
  if (!can_run_slurm()) return;
  expect_result("lightning",
                two_gpus + Words{"--mem=0", "--partition=main"},
                {"--synthetic",
                 "--large-stem",
                 "--train-images=40",
                 "--test-images=4",
                 "--batch-size=4",
                 "--steps=1"},
                "epochs=0 steps=1 loss=");
}

}  // namespace slurm
