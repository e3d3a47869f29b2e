// The batch scripts of the examples that follow courses: the real programs on made-up data, for a
// step or two.
#include "tests/slurm/training.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace slurm {
namespace {

const Words two_gpus{"--nodes=2", "--gpus-per-node=1", "--cpus-per-task=1"};
const Words few_pictures{"--synthetic", "--side=33", "--batch-size=2", "--images=4", "--steps=1"};

/// Submits examples/NAME/batch.sh to two nodes, of which each has two GPUs.
int submit_course(Training& training,
                  const std::string& name,
                  const Words& sbatch_options,
                  const Words& arguments) {
  training.slurm().show_gpus();
  const std::string script = std::string(SLURM_COURSES) + "/" + name + "/batch.sh";
  return training.submit_file(script, sbatch_options, arguments);
}

void expect_result(const std::string& name,
                   const Words& sbatch_options,
                   const Words& arguments,
                   const std::string& result) {
  Training training(2);
  const int job = submit_course(training, name, sbatch_options, arguments);
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

TEST_CASE("slurm: the batch script of examples/lightning trains, and leaves no copy of its data") {
  if (!can_run_slurm()) return;
  Training training(2);
  constexpr std::size_t picture_bytes = 2 + 3 * 32 * 32;
  training.slurm().test().write("train.bin", std::string(40 * picture_bytes, '\0'));
  training.slurm().test().write("test.bin", std::string(4 * picture_bytes, '\0'));
  const int job = submit_course(training,
                                "lightning",
                                two_gpus + Words{"--mem=0", "--partition=main"},
                                {"--data=.", "--large-stem", "--batch-size=4", "--epochs=9999"});
  const std::filesystem::path copies = "/tmp/cifar-" + std::to_string(job);  // for both nodes
  training.slurm().wait_until("copied data", [&] { return exists(copies / "test.bin"); });
  training.slurm().wait_until("a first epoch", [&] {
    return training.slurm().output(job).find("epoch 1 of") != std::string::npos;
  });
  training.slurm().ask({"scancel", std::to_string(job)});
  training.slurm().wait_for_end(job);
  training.slurm().wait_until("removed copies", [&] { return !exists(copies); });
}

}  // namespace slurm
