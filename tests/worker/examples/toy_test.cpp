// The example toy beside its program in Python.
#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

using test::TemporaryFolder;

std::vector<double> toy_losses(const std::string& text_of_file) {
  std::istringstream lines(text_of_file);
  std::vector<double> losses;
  for (double loss = 0; lines >> loss;) losses.push_back(loss);
  return losses;
}

TEST_CASE("toy: from the same seed its losses and those of its program in Python are equal") {
  const TemporaryFolder folder;
  const std::string peer = EXAMPLES_FOLDER "/toy/toy.py";
  const auto job = [](int ranks) {
    return text("OMP_NUM_THREADS=1 timeout 100 " DDPRUN_PROGRAM " --standalone --snapshot cpp",
                ranks,
                " --nproc-per-node ",
                ranks,
                " ");
  };
  const auto options = [](const std::string& losses) {
    return " 9 4 --steps 20 --batch-size 100 --lr 0.1 --seed 3 --losses " + losses;
  };
  const auto output = test::run_python(folder,
                                       "import os, runpy, sys\n"
                                       "sys.argv = '" +
                                           peer + options("python1") +
                                           "'.split()\n"
                                           "runpy.run_path(sys.argv[0])\n"
                                           "sys.exit(os.system('" +
                                           job(2) + "' + sys.executable + ' " + peer +
                                           options("python2") + "') != 0)\n");
  if (!output) return;
  CAPTURE(*output);
  for (const int ranks : {1, 2}) {
    const auto trained =
        test::run_command(folder, job(ranks) + EXAMPLE_TOY + options(text("cpp_losses", ranks)));
    CAPTURE(trained.error);
    REQUIRE(trained.status == 0);
    const auto ours = toy_losses(test::read_bytes(folder / text("cpp_losses", ranks)));
    const auto theirs = toy_losses(test::read_bytes(folder / text("python", ranks)));
    REQUIRE(ours.size() == 20);
    REQUIRE(theirs.size() == 20);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      CHECK(ours[i] == doctest::Approx(theirs[i]).epsilon(1e-5));
    }
  }
}

}  // namespace
}  // namespace ddprun::worker
