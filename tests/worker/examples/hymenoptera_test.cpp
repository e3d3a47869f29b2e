// hymenoptera as its users run it, on a few made-up pictures, and beside its peer in Python.
#include "ddprun/error.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/weights.hpp"
#include "tests/worker/examples/peer_losses.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <string>
#include <vector>

namespace ddprun::examples {
namespace {

using namespace test;

constexpr const char* few_insects =
    " --synthetic --images 8 --side 33 --batch-size 2 --seed 3 --no-augmentation"
    " --weights weights.pt --losses ";

TEST_CASE("hymenoptera: its losses are Python's, also those of a job that goes on") {
  const TemporaryFolder folder;
  const std::string words = few_insects;
  const bool has_python = run_peer(folder,
                                   "hymenoptera/hymenoptera.py",
                                   {{.ranks = 1, .words = "--seed 9 --export weights.pt"},
                                    {.ranks = 1, .words = words + "python_1.txt --steps 2"},
                                    {.ranks = 2, .words = words + "python_2.txt --steps 2"}});
  if (!has_python) return;
  const auto train_to = [&](int steps) {
    return run_command(folder,
                       text("timeout 100 " DDPRUN_PROGRAM
                            " --standalone --nproc-per-node 2 --snapshot run/snapshot.pt"
                            " " EXAMPLE_HYMENOPTERA,
                            words,
                            steps,
                            ".txt --steps ",
                            steps));
  };
  const CommandResult first = train_to(1);
  CAPTURE(first.error);
  REQUIRE(first.status == 0);
  CHECK(contains(first.output, "elapsed: 00 hours 00 min "));
  CHECK(contains(first.output, "result: epochs=0 steps=1 loss="));
  CHECK_FALSE(contains(first.output, "accuracy=-"));
  const CommandResult second = train_to(2);
  REQUIRE(second.status == 0);
  CHECK(contains(second.output, "result: epochs=1 steps=2 loss="));
  std::vector<double> losses = losses_in(folder / "1.txt");
  for (const double loss : losses_in(folder / "2.txt")) losses.push_back(loss);
  CHECK(are_close(losses, losses_in(folder / "python_2.txt")));
  CHECK(worker::test::processes_in(folder).empty());

  REQUIRE(
      run_command(folder, "OMP_NUM_THREADS=1 " EXAMPLE_HYMENOPTERA + words + "alone.txt --steps 2")
          .status == 0);
  CHECK(are_close(losses_in(folder / "alone.txt"), losses_in(folder / "python_1.txt")));
  const auto trained = worker::read_weights(folder / "hymenoptera.pt");
  CHECK(trained.contains("layer4.1.bn2.running_var"));
}

TEST_CASE("hymenoptera: weights of another network are an error that names what is missing") {
  const TemporaryFolder folder;
  const torch::nn::Linear other(2, 2);
  worker::write_pt_file(folder / "weights.pt", worker::to_value(worker::state_dict(*other)));
  const CommandResult job = run_command(
      folder, EXAMPLE_HYMENOPTERA " --synthetic --side 33 --batch-size 2 --weights weights.pt");
  CHECK(job.status == 1);
  CHECK(contains(job.error, "does not fit the network: it lacks 122 (conv1.weight, "));
}

}  // namespace
}  // namespace ddprun::examples
