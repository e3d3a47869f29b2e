// cifar100 as its users run it, in all its modes, and beside its peer in Python. PARITY_STEPS says
// how many losses are compared.
#include "ddprun/error.hpp"
#include "tests/worker/examples/peer_losses.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace ddprun::examples {
namespace {

using namespace test;

/// Each rank has one thread.
CommandResult cifar100_job(const TemporaryFolder& folder, int ranks, const std::string& program) {
  return run_command(folder,
                     text("OMP_NUM_THREADS=1 timeout 100 " DDPRUN_PROGRAM
                          " --standalone --snapshot run/snapshot.pt --nproc-per-node ",
                          ranks,
                          " ",
                          program));
}

/// A job of one process, without ddprun, that goes on from snapshot.pt and writes it.
CommandResult cifar100(const TemporaryFolder& folder, const std::string& options) {
  return run_command(folder, "OMP_NUM_THREADS=1 " EXAMPLE_CIFAR100 " " + options);
}

/// `count` records, all of class 5.
void write_cifar100(const std::filesystem::path& path, std::size_t count) {
  worker::test::write_bytes(path, std::string(count * (2 + 3 * 32 * 32), '\5'));
}

std::ptrdiff_t files_count(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator files(folder);
  return std::distance(begin(files), end(files));
}

/// At 33 pixels a BatchNorm has four values of a picture. So with a batch of two, ranks and devices
/// normalise the same pictures together: each its own one.
TEST_CASE("cifar100: its losses are Python's, two devices compute what two ranks do") {
  const TemporaryFolder folder;
  const char* const chosen = std::getenv("PARITY_STEPS");
  const int steps = chosen != nullptr ? std::atoi(chosen) : 3;
  const auto words = [steps](int batch_size, const std::string& losses) {
    return text("--net resnet18 --synthetic --side 33 --seed 3 --weights start.pt --report-every 1",
                " --batch-size ",
                batch_size,
                " --steps ",
                steps,
                " --losses ",
                losses);
  };
  const bool has_python =
      run_peer(folder,
               "cifar100/cifar100.py",
               {{.ranks = 1, .words = "--net resnet18 --seed 9 --export start.pt"},
                {.ranks = 1, .words = words(2, "python_1.txt")},
                {.ranks = 2, .words = words(1, "python_2.txt")}});
  if (!has_python) return;
  const CommandResult two = cifar100_job(
      folder, 2, EXAMPLE_CIFAR100 " --log log --profile traces " + words(1, "two.txt"));
  CAPTURE(two.error);
  REQUIRE(two.status == 0);
  const std::vector<double> losses = losses_in(folder / "two.txt");
  CHECK(are_close(losses, losses_in(folder / "python_2.txt")));
  const std::size_t line = two.output.find("[1, 1] loss: ");
  REQUIRE(line != std::string::npos);
  CHECK(two.output.find("[1, 1] loss: ", line + 1) == std::string::npos);  // by rank 0 alone
  CHECK(contains(two.output.substr(line), "s, time/iter (1): "));
  CHECK(contains(two.output, text("result: epochs=0 steps=", steps, " loss=")));
  CHECK_FALSE(contains(two.output, "accuracy=-"));
  CHECK(files_count(folder / "log") == 3);  // the curve, and what each rank uses
  CHECK(files_count(folder / "traces") == 2);

  REQUIRE(cifar100(folder, words(2, "one.txt") + " --mode single").status == 0);
  CHECK(are_close(losses_in(folder / "one.txt"), losses_in(folder / "python_1.txt")));

  const TemporaryFolder other;
  std::filesystem::copy(folder / "start.pt", other / "start.pt");
  const std::string devices = " --mode data-parallel --devices cpu,cpu";
  REQUIRE(cifar100(other, words(2, "devices.txt") + devices).status == 0);
  CHECK(are_close(losses, losses_in(other / "devices.txt")));
}

TEST_CASE("cifar100: data that one rank alone cannot read end all ranks with the same words") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "0/data");
  std::filesystem::create_directories(folder / "1");
  const std::filesystem::path training = folder / "0/data/train.bin";
  const std::filesystem::path test = folder / "0/data/test.bin";
  write_cifar100(training, 2);
  write_cifar100(test, 1);
  const auto times_told = [](const CommandResult& job, const std::string& error) {
    CHECK(job.status == 1);
    int count = 0;
    for (std::size_t at = 0; (at = job.error.find("] error: " + error, at)) != std::string::npos;) {
      ++count;
      ++at;
    }
    return count;
  };
  const CommandResult one_sided =
      cifar100_job(folder, 2, "sh -c 'cd $RANK && exec " EXAMPLE_CIFAR100 " --data data'");
  CAPTURE(one_sided.error);
  CHECK(times_told(one_sided, "cannot read data/train.bin: No such file or directory") == 2);

  write_cifar100(training, 1);
  const CommandResult few =
      cifar100_job(folder, 2, EXAMPLE_CIFAR100 " --net resnet18 --data 0/data");
  CAPTURE(few.error);
  CHECK(times_told(few, "the training has 2 ranks, and its data 1 sample") == 2);

  worker::test::write_bytes(test, "cut off");
  CHECK(contains(cifar100(folder, "--data 0/data").error,
                 "0/data/test.bin: its 7 bytes are not a whole number of records"));
}

TEST_CASE("cifar100: devices that do not begin with the rank's own are refused") {
  const TemporaryFolder folder;
  const CommandResult job =
      cifar100(folder, "--synthetic --net resnet18 --mode data-parallel --devices meta,cpu");
  CHECK(job.status == 2);
  CHECK(contains(job.error, "--devices is \"meta,cpu\"; give a list that begins with cpu"));
}

}  // namespace
}  // namespace ddprun::examples
