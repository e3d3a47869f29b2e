// The examples, told to end while they train, as by a batch system; they go on from there.
#include "ddprun/error.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/snapshot.hpp"
#include "tests/worker/small_images.hpp"
#include "tests/worker/stops.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <csignal>
#include <functional>

namespace ddprun::worker {
namespace {

using test::CommandResult;
using test::TemporaryFolder;

constexpr int ranks_of_example = 2;
constexpr std::int64_t endless = 1'000'000'000;  // epochs

std::string under_ddprun(const std::string& program) {
  return text("timeout 100 " DDPRUN_PROGRAM " --standalone --snapshot snapshot.pt --grace 60s ",
              "--nproc-per-node ",
              ranks_of_example,
              " ",
              program);
}

Snapshot newest_in(const TemporaryFolder& folder) {
  return from_value(read_pt_file(folder / "snapshot.pt"));
}

/// Runs `program` until ddprun gets SIGTERM, once there is a snapshot, and checks that both ranks
/// have stopped at one step and left a snapshot of it. The result is standard error.
std::string stop(const TemporaryFolder& folder, const std::string& program) {
  const CommandResult job = test::run_command(
      folder,
      under_ddprun(program) +
          " & job=$!; until [ -e snapshot.pt ] || ! kill -0 $job; do sleep 0.01; done; "
          "kill -TERM $job; wait $job");
  CAPTURE(job.error);
  CHECK(job.status == 128 + SIGTERM);
  CHECK(test::stops_in(job.error) ==
        std::vector<std::int64_t>(ranks_of_example, newest_in(folder).position.step));
  CHECK(test::processes_in(folder).empty());
  return job.error;
}

void run_to_the_end(const TemporaryFolder& folder, const std::string& program) {
  const CommandResult job = test::run_command(folder, under_ddprun(program));
  CAPTURE(job.error);
  REQUIRE(job.status == 0);
  CHECK(test::processes_in(folder).empty());
}

TEST_CASE("toy: told to end, it saves an epoch that it ends as if nobody had told it") {
  const auto toy = [](std::int64_t epochs) { return text(EXAMPLE_TOY " ", epochs, " 7"); };
  const TemporaryFolder folder;
  stop(folder, toy(endless));
  const std::int64_t epochs = newest_in(folder).position.epoch + 3;
  const TemporaryFolder undisturbed;
  for (const auto* each : {&folder, &undisturbed}) run_to_the_end(*each, toy(epochs));
  const std::string model = "finalmodel.pt";
  CHECK(test::read_bytes(folder / model) == test::read_bytes(undisturbed / model));
}

TEST_CASE("fashion_mnist: told to end, it saves a step from which it ends as if nobody had") {
  const auto fashion_mnist = [](std::int64_t epochs) {
    return text(EXAMPLE_FASHION_MNIST " --data . --batch-size 8 --snapshot-every 4 --epochs ",
                epochs);
  };
  const TemporaryFolder folder;
  const TemporaryFolder undisturbed;
  for (const auto* each : {&folder, &undisturbed}) test::write_data(*each);
  const std::string said = stop(folder, fashion_mnist(endless));
  const Snapshot stopped = newest_in(folder);
  CHECK(test::contains(said, text("at step ", stopped.position.step, ", saved in ")));
  for (const auto* each : {&folder, &undisturbed}) {
    run_to_the_end(*each, fashion_mnist(stopped.position.epoch + 2));
  }
  const Snapshot expected = newest_in(undisturbed);
  const Snapshot resumed = newest_in(folder);
  CHECK(resumed.position.step == expected.position.step);
  for (const auto& entry : expected.model_state) {
    CHECK(torch::equal(resumed.model_state[entry.key()], entry.value()));
  }
}

TEST_CASE("fashion_mnist: SIGTERM over and over while it trains does no harm") {
  const TemporaryFolder folder;
  test::write_data(folder);
  const CommandResult worker = test::run_command(
      folder,
      EXAMPLE_FASHION_MNIST
      " --data . --batch-size 8 --snapshot-every 4 --epochs 1000000000 & worker=$!; "
      "until [ -e snapshot.pt ] || ! kill -0 $worker; do sleep 0.01; done; count=0; "
      "while [ $count -lt 10000000 ] && kill -TERM $worker 2>/dev/null; do count=$((count+1)); "
      "done; "
      "kill -KILL $worker 2>/dev/null; wait $worker");
  CAPTURE(worker.error);
  CHECK(worker.status == 128 + SIGTERM);
  CHECK(newest_in(folder).position.step > 4);  // the first is waited for
  CHECK(test::processes_in(folder).empty());
}

}  // namespace
}  // namespace ddprun::worker
