// The scripts of examples/slurm, which ddprun-slurm(7) shows, and that of README, as they are.
#include "tests/slurm/training.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace slurm {
namespace {

/// All workers of a generation, however many there are on each node.
Starts all_of(Training& training, int generation) {
  const int size = training.generation(generation, 1).at(0).world_size;
  return training.generation(generation, static_cast<std::size_t>(size));
}

int submit(Training& training, const char* name, const Words& more = {}) {
  return training.submit_file(std::string(SLURM_EXAMPLES) + "/" + name, more);
}

/// The workers of all nodes are told to end, and those of a second run end by themselves.
void expect_second_run(Training& training, int job) {
  const auto size = static_cast<int>(all_of(training, 1).size());
  training.slurm().wait_until("saved workers", [&] { return training.saved() == size; });
  training.complete(job);
  CHECK(training.slurm().job(job).at("Restarts") == "1");
}

/// Each of the 2 workers of each node sees both GPUs, and uses the one of its local rank.
void expect_shared_gpus(Training& training) {
  const Starts starts = all_of(training, 1);
  CHECK(starts.size() == 4);
  for (const auto& [rank, start] : starts) {
    CHECK(start.local_rank == rank % 2);
    CHECK(start.gpus == "0,1");
  }
}

/// The batch script of README that runs ddprun; empty if there is none.
std::string readme_script() {
  std::ifstream file(SLURM_README);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string fence = "```";
  const std::string head = fence + "bash\n";
  for (std::size_t at = text.find(head); at != std::string::npos; at = text.find(head, at)) {
    at += head.size();
    std::string script = text.substr(at, text.find(fence, at) - at);
    const bool is_it = script.starts_with("#!") && script.find("\nddprun ") != std::string::npos;
    if (is_it) return script;
  }
  return {};
}

}  // namespace

/// A node has two GPUs and few cores here, of which the script wants more.
TEST_CASE("slurm: the batch script of README, with a Python program") {
  if (!can_run_slurm()) return;
  Training training(4);
  training.slurm().show_gpus();
  training.slurm().test().write("readme.sh", readme_script());
  training.slurm().test().write("train.py", "import os\nos.execv('./train', ['./train'])\n");
  const int job = training.submit_file("readme.sh", {"--gpus-per-node=2", "--cpus-per-task=1"});
  const Starts starts = all_of(training, 1);
  CHECK(starts.size() == 8);
  for (const auto& [rank, start] : starts) CHECK(start.gpus == "0,1");
  training.complete(job);
}

TEST_CASE("slurm: the example batch.sh") {
  if (!can_run_slurm()) return;
  Training training(4);
  const int job = submit(training, "batch.sh");
  CHECK(all_of(training, 1).rbegin()->second.host == "n3");
  training.complete(job);
}

TEST_CASE("slurm: the example elastic.sh") {
  if (!can_run_slurm()) return;
  Training training(4);
  const int job = submit(training, "elastic.sh");
  all_of(training, 1);
  training.slurm().power_off(3);
  CHECK(all_of(training, 2).rbegin()->second.host == "n2");
  CHECK(training.slurm().test().has("run"));
  training.finish();
  training.slurm().wait_for_end(job);
}

TEST_CASE("slurm: the example step.sh") {
  if (!can_run_slurm()) return;
  Training training(4);
  const int job = submit(training, "step.sh");
  CHECK(all_of(training, 1).rbegin()->second.host == "n3");
  training.complete(job);
}

TEST_CASE("slurm: the example requeue.sh") {
  if (!can_run_slurm()) return;
  Training training(4, std::chrono::milliseconds(100));
  const int job = submit(training, "requeue.sh", {"--time=1"});  // of which half is left over
  expect_second_run(training, job);
}

TEST_CASE("slurm: the example signal.sh") {
  if (!can_run_slurm()) return;
  Training training(4, std::chrono::milliseconds(100));
  const int job = submit(training, "signal.sh");
  all_of(training, 1);
  training.slurm().ask({"scancel", "--signal=USR1", std::to_string(job)});
  expect_second_run(training, job);
}

TEST_CASE("slurm: the example heterogeneous.sh") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = submit(training, "heterogeneous.sh");
  CHECK(all_of(training, 1).rbegin()->second.host == "n1");
  training.complete(job);
}

TEST_CASE("slurm: the example tasks.sh") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = submit(training, "tasks.sh");
  CHECK(all_of(training, 1).size() == 4);
  training.complete(job);
}

TEST_CASE("slurm: the example each_node.sh") {
  if (!can_run_slurm()) return;
  Training training(2);
  const int job = submit(training, "each_node.sh");
  const Starts starts = all_of(training, 1);
  CHECK(starts.at(0).world_size == starts.at(0).local_world_size);
  training.complete(job);
}

TEST_CASE("slurm: the example gpus.sh") {
  if (!can_run_slurm()) return;
  Training training(2);
  training.slurm().show_gpus();
  const int job = submit(training, "gpus.sh");
  expect_shared_gpus(training);
  training.complete(job);
}

TEST_CASE("slurm: the example gpu_tasks.sh") {
  if (!can_run_slurm()) return;
  Training training(2);
  training.slurm().show_gpus();
  const int job = submit(training, "gpu_tasks.sh");
  expect_shared_gpus(training);
  training.complete(job);
}

}  // namespace slurm
