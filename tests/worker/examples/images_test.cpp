// The examples of images as their users run them, on small made-up data sets.
#include "ddprun/error.hpp"
#include "ddprun/finite.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/snapshot.hpp"
#include "tests/worker/small_images.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

namespace ddprun::worker {
namespace {

using test::CommandResult;
using test::contains;
using test::run_command;
using test::TemporaryFolder;
using test::train_count;
using test::write_data;
using test::write_idx;

CommandResult train(const TemporaryFolder& folder, int world_size, const std::string& options) {
  return run_command(folder,
                     "timeout 100 " DDPRUN_PROGRAM
                     " --standalone --snapshot snapshot.pt"
                     " --nproc-per-node " +
                         std::to_string(world_size) +
                         " " EXAMPLE_FASHION_MNIST " --data . --batch-size 8 " + options);
}

Snapshot snapshot_in(const TemporaryFolder& folder) {
  return from_value(read_pt_file(folder / "snapshot.pt"));
}

TEST_CASE("fashion_mnist: data that is missing, cut off or something else is named") {
  const TemporaryFolder folder;
  const auto error = [&] {
    const CommandResult job = train(folder, 1, "");
    CHECK(job.status == 1);
    return job.error;
  };
  CHECK(contains(error(), "error: cannot read ./train-images-idx3-ubyte.gz: No such file"));
  CHECK(contains(error(), "; check the path, or fetch the file again"));
  write_data(folder);
  const auto images = folder / "train-images-idx3-ubyte.gz";
  const std::string whole = test::read_bytes(images);
  test::write_bytes(images, whole.substr(0, whole.size() / 2));
  CHECK(contains(error(), "cannot read ./train-images-idx3-ubyte.gz: it has fewer bytes than its"));
  test::write_bytes(images, "\x89PNG");
  CHECK(contains(error(), "cannot read ./train-images-idx3-ubyte.gz: it is not an IDX file"));
  write_idx(images, {train_count, 32, 32}, 251);
  CHECK(
      contains(error(), "the train files in . have images [96, 32, 32] and labels [96], not [N,"));
  write_data(folder);
  write_idx(folder / "train-labels-idx1-ubyte.gz", {train_count}, 11);
  CHECK(contains(error(), "the train labels in . go up to 10, not 9"));
  write_data(folder);
  write_idx(images, {0, 28, 28}, 251);
  write_idx(folder / "train-labels-idx1-ubyte.gz", {0}, 10);
  CHECK(contains(error(), "the train files in . hold no images; give --data the folder"));
}

TEST_CASE("fashion_mnist: a loss that is no number ends the job, and no snapshot has a NaN") {
  const TemporaryFolder folder;
  write_data(folder);
  const CommandResult job = train(folder, 2, "--epochs 2 --snapshot-every 1 --lr 1e30");
  CAPTURE(job.error);
  CHECK(job.status == 1);
  CHECK(contains(job.error, "error: the loss is "));
  CHECK(contains(job.error, " in epoch 0, step 1 on rank "));
  CHECK(find_nan(snapshot_in(folder).model_state) == std::nullopt);
}

TEST_CASE("fashion_mnist: a job goes on with another number of ranks, and says where") {
  const TemporaryFolder folder;
  write_data(folder);
  const CommandResult stopped = train(folder, 2, "--epochs 1 --snapshot-every 2");
  CAPTURE(stopped.error);
  REQUIRE(stopped.status == 0);
  REQUIRE(std::filesystem::exists(folder / "snapshot.pt.1.4"));
  std::filesystem::remove(folder / "snapshot.pt.1.6");  // as if killed after the fourth of 6 steps
  const CommandResult job = train(folder, 3, "--epochs 1 --snapshot-every 1");
  CAPTURE(job.error);
  CHECK(job.status == 0);
  CHECK(contains(job.error,
                 "snapshot.pt.1.4 was saved by 2 ranks and this job has 3: epoch 0 goes on after "
                 "the 64 samples that those had used, and deals out the rest to 3"));
  const Snapshot after = snapshot_in(folder);
  CHECK(after.position.epoch == 1);
  CHECK(after.world_size == 3);
  // 4 of two ranks, and 32 images left for three: 11 each, in 2 batches
  CHECK(after.position.step == 6);
}

TEST_CASE("cifar10: it learns, keeps the best model and writes curves, a restart goes on") {
  const TemporaryFolder folder;
  const auto write_records = [&](const std::string& name, int count) {
    std::string records;
    for (int i = 0; i < count; ++i) {
      records += static_cast<char>(i % 10);
      records += std::string(3072, static_cast<char>(25 * (i % 10)));
    }
    test::write_bytes(folder / name, records);
  };
  for (int i = 1; i <= 5; ++i) write_records(text("data_batch_", i, ".bin"), 8);
  write_records("test_batch.bin", 20);
  const auto train_epochs = [&](int epochs) {
    return run_command(
        folder,
        text("timeout 100 " DDPRUN_PROGRAM " --standalone --nproc-per-node 2 "
             "--snapshot snapshot.pt " EXAMPLE_CIFAR10 " . --batch-size 10 --epochs ",
             epochs));
  };
  const CommandResult first = train_epochs(1);
  CAPTURE(first.error);
  REQUIRE(first.status == 0);
  CHECK(contains(first.error, "epoch 1 of 1: train/loss "));
  CHECK(contains(first.error, ", validation/accuracy "));
  CHECK(std::filesystem::exists(folder / "snapshot.pt.best"));
  CHECK(snapshot_in(folder).position.step == 2);
  const CommandResult second = train_epochs(2);
  CAPTURE(second.error);
  REQUIRE(second.status == 0);
  CHECK_FALSE(contains(second.error, "epoch 1 of 2"));
  CHECK(contains(second.error, "epoch 2 of 2: train/loss "));
  CHECK(snapshot_in(folder).position.step == 4);
  const std::filesystem::directory_iterator files(folder / "runs");
  CHECK(std::distance(begin(files), end(files)) == 2);  // one for each start
  CHECK(test::processes_in(folder).empty());
}

}  // namespace
}  // namespace ddprun::worker
