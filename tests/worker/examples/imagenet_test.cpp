// imagenet as its users run it, by a small ResNet on a few made-up pictures, and beside its peer.
#include "ddprun/error.hpp"
#include "tests/worker/examples/peer_losses.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <iterator>
#include <string>

namespace ddprun::examples {
namespace {

using namespace test;

TEST_CASE("imagenet: its losses are Python's in a warm-up, and the curve has a point in time") {
  const TemporaryFolder folder;
  const std::string words =
      " --synthetic --images 8 --classes 4 --side 33 --layers 18 --batch-size 2 --seed 3"
      " --recipe sgd --lr 0.1 --epochs 2 --steps 3 --log-every 3 --losses ";
  const CommandResult job = run_command(
      folder,
      text("timeout 100 " DDPRUN_PROGRAM " --standalone --nproc-per-node 2 " EXAMPLE_IMAGENET,
           words,
           "losses.txt"));
  CAPTURE(job.error);
  REQUIRE(job.status == 0);
  CHECK(contains(job.output, "result: epochs=1 steps=3 loss="));
  std::string curve;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "runs")) {
    if (entry.is_regular_file()) curve += worker::test::read_bytes(entry.path());
  }
  CHECK(contains(curve, "training_loss"));
  CHECK(std::filesystem::is_directory(folder / "runs/rank1"));  // what that rank uses
  CHECK(worker::test::processes_in(folder).empty());
  if (!run_peer(folder, "imagenet/imagenet.py", {{.ranks = 2, .words = words + "python.txt"}}))
    return;
  CHECK(are_close(losses_in(folder / "losses.txt"), losses_in(folder / "python.txt")));
}

TEST_CASE("imagenet: a recipe that it does not have is a usage error") {
  const TemporaryFolder folder;
  const CommandResult recipe = run_command(folder, EXAMPLE_IMAGENET " --synthetic --recipe lamb");
  CHECK(recipe.status == 2);
  CHECK(contains(recipe.error, "--recipe is \"lamb\"; give adam or sgd"));
}

}  // namespace
}  // namespace ddprun::examples
