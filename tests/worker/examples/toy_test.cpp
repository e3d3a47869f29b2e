// The example toy beside its program in Python.
#include "ddprun/error.hpp"
#include "tests/worker/examples/peer_losses.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ddprun::examples {
namespace {

using namespace test;

TEST_CASE("toy: from the same seed its losses and those of its program in Python are equal") {
  const TemporaryFolder folder;
  const auto options = [](const std::string& losses) {
    return "9 4 --steps 20 --batch-size 100 --lr 0.1 --seed 3 --losses " + losses;
  };
  const bool has_python = run_peer(
      folder,
      "toy/toy.py",
      {{.ranks = 1, .words = options("python1")}, {.ranks = 2, .words = options("python2")}});
  if (!has_python) return;
  for (const int ranks : {1, 2}) {
    const CommandResult trained = run_command(
        folder,
        text("OMP_NUM_THREADS=1 timeout 100 " DDPRUN_PROGRAM " --standalone --snapshot cpp",
             ranks,
             " --nproc-per-node ",
             ranks,
             " " EXAMPLE_TOY " ",
             options(text("cpp", ranks, ".txt"))));
    CAPTURE(trained.error);
    REQUIRE(trained.status == 0);
    const std::vector<double> ours = losses_in(folder / text("cpp", ranks, ".txt"));
    const std::vector<double> theirs = losses_in(folder / text("python", ranks));
    REQUIRE(ours.size() == 20);
    REQUIRE(theirs.size() == 20);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      CHECK(ours[i] == doctest::Approx(theirs[i]).epsilon(1e-5));
    }
  }
}

}  // namespace
}  // namespace ddprun::examples
