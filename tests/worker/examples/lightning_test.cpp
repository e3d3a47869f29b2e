// The example of a Trainer with a data module, as its users run it, and beside Lightning.
#include "ddprun/error.hpp"
#include "ddprun/module_state.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/session.hpp"
#include "ddprun/snapshot.hpp"
#include "examples/lightning/cifar100_data.hpp"
#include "tests/worker/examples/peer_losses.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

using namespace examples::test;

/// A job of one node. `command` is a shell's.
CommandResult lightning_job(const TemporaryFolder& folder,
                            int ranks,
                            const std::string& command,
                            const std::string& options) {
  return run_command(
      folder,
      text("OMP_NUM_THREADS=1 timeout 250 " DDPRUN_PROGRAM " --standalone --snapshot snapshot.pt ",
           "--nproc-per-node ",
           ranks,
           " ",
           command,
           " --large-stem ",  // which takes a sixteenth of the time
           options));
}

void write_cifar100(const std::filesystem::path& folder, const std::string& name, int count) {
  std::filesystem::create_directories(folder);
  std::string records;
  for (int i = 0; i < count; ++i) {
    records += '\0';
    records += static_cast<char>(i % 100);
    for (int byte = 0; byte < 3072; ++byte) {
      records += static_cast<char>((i * 7919 + byte * byte * (i + 3) / 5) % 251);
    }
  }
  test::write_bytes(folder / name, records);
}

TEST_CASE("lightning: it trains, and a job that goes on has the losses of an unbroken one") {
  const TemporaryFolder folder;
  const auto train = [&](const std::string& losses) {
    return lightning_job(folder,
                         2,
                         EXAMPLE_LIGHTNING,
                         "--synthetic --train-images 17 --test-images 2 --batch-size 4 --lr 0.001 "
                         "--epochs 2 --losses " +
                             losses);
  };
  const CommandResult unbroken = train("all");
  CAPTURE(unbroken.error);
  REQUIRE(unbroken.status == 0);
  CHECK(contains(unbroken.error, "epoch 2 of 2: train/loss "));
  CHECK(contains(unbroken.output, "result: epochs=2 steps=4 loss="));
  CHECK_FALSE(contains(unbroken.output, "accuracy=-"));
  CHECK(std::filesystem::exists(folder / "snapshot.pt.best"));
  REQUIRE(std::filesystem::remove(folder / "snapshot.pt.1.4"));  // as if killed after epoch 1
  REQUIRE(train("rest").status == 0);
  const std::vector<double> all = losses_in(folder / "all");
  CHECK(all.size() == 4);
  CHECK(losses_in(folder / "rest") == std::vector<double>(all.begin() + 2, all.end()));
}

TEST_CASE("lightning: a picture is made up when it is read, so a large count costs nothing") {
  constexpr std::int64_t count = 1'000'000'000'000;
  const TemporaryFolder folder;
  Session session({}, test::context_in(folder));
  examples::Cifar100Data data({.train_images = count, .test_images = count});
  set_up(data, session);
  CHECK(data.training_data().size() == count / 10 * 9);
  CHECK(data.test_data().size() == count);
  const auto others = data.validation_data();
  CHECK(others.size() == count / 10);
  torch::Generator draws = at::detail::createCPUGenerator();
  CHECK(others.get(7, draws).target.item<std::int64_t>() == 7);
  CHECK_FALSE(torch::equal(others.get(7, draws).input, others.get(107, draws).input));
}

TEST_CASE("lightning: data that are missing, damaged or too few are named") {
  const TemporaryFolder folder;
  Session session({}, test::context_in(folder));
  const auto error_of = [&](const examples::Cifar100Options& options) {
    return test::error_of([&] {
      examples::Cifar100Data data(options);
      set_up(data, session);
    });
  };
  const std::string data = folder / "data";
  CHECK(contains(error_of({.data = data}), "data/train.bin: No such file or directory"));
  write_cifar100(data, "train.bin", 30);
  test::write_bytes(folder / "data" / "test.bin", std::string(3000, 'x'));
  CHECK(contains(error_of({.data = data}), "data/test.bin: its 3000 bytes are not a whole number"));
  write_cifar100(data, "test.bin", 1);
  CHECK(error_of({.data = data}).empty());
  write_cifar100(data, "train.bin", 1);
  CHECK(error_of({.data = data}) ==
        data + "/train.bin has one picture, and the validation needs that; give more");
}

TEST_CASE("lightning: data are copied to a node once, the whole of each file or nothing") {
  const TemporaryFolder folder;
  Session session({}, test::context_in(folder));
  write_cifar100(folder / "data", "train.bin", 21);
  write_cifar100(folder / "data", "test.bin", 3);
  const std::filesystem::path copies = folder / "disk" / "cifar";
  write_cifar100(copies, "test.bin", 4);
  test::write_bytes(copies / "train.bin.part", "of another node");
  examples::Cifar100Data data({.data = folder / "data", .copy_to = copies});
  set_up(data, session);
  CHECK(data.training_data().size() == 19);
  CHECK(data.validation_data().size() == 2);
  CHECK(data.test_data().size() == 4);  // what is there is left alone
  CHECK(test::read_bytes(copies / "train.bin.part") == "of another node");
  const std::filesystem::directory_iterator files(copies);
  CHECK(std::distance(begin(files), end(files)) == 3);
}

TEST_CASE("lightning: a node that sees no data ends all ranks with the same cause") {
  const TemporaryFolder folder;
  for (const char* node : {"node0", "node1"}) {
    std::filesystem::create_directory(folder / node);
  }
  write_cifar100(folder / "node0" / "data", "train.bin", 10);
  write_cifar100(folder / "node0" / "data", "test.bin", 1);
  const CommandResult job =
      lightning_job(folder,
                    2,
                    "sh -c 'cd node$RANK && LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 exec " EXAMPLE_LIGHTNING
                    " \"$@\"' sh",
                    "--data data --copy-to copies");
  CAPTURE(job.error);
  CHECK(job.status == 1);
  for (const char* rank : {"0", "1"}) {
    CHECK(contains(job.error,
                   text(rank,
                        "] error: cannot copy data/train.bin to copies/train.bin: No such file or "
                        "directory; check --data, --copy-to and the room there (on rank 1)")));
  }
}

TEST_CASE("lightning: a rank that cannot write its curves ends the job with the cause alone") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "runs");
  test::write_bytes(folder / "runs" / "rank1", "no folder");
  const CommandResult job =
      lightning_job(folder, 2, EXAMPLE_LIGHTNING, "--synthetic --train-images 9 --test-images 2");
  CAPTURE(job.error);
  CHECK(job.status == 1);
  CHECK(contains(job.error, "1] error: cannot create folder runs/rank1: Not a directory; "));
  CHECK_FALSE(contains(job.error, "error: ["));  // Gloo's words alone
}

TEST_CASE("lightning: weights of another network are refused with the file's name") {
  const TemporaryFolder folder;
  const torch::nn::Linear other(1, 1);
  write_pt_file(folder / "other.pt", to_value(state_dict(*other)));
  const CommandResult job =
      run_command(folder, EXAMPLE_LIGHTNING " --synthetic --weights other.pt");
  CHECK(job.status == 1);
  CHECK(contains(job.error,
                 "error: the weights file other.pt does not fit the network: it lacks 122 ("));
}

TEST_CASE("lightning: from the same weights its losses are Lightning's, or else a loop's") {
  const char* const chosen = std::getenv("TEST_PYTHON");
  const std::string python = chosen != nullptr ? chosen : "/usr/bin/python3";
  const TemporaryFolder folder;
  const CommandResult version = run_command(
      folder, python + " -c 'import lightning, torchvision, torch; print(torch.__version__)'");
  const bool has_lightning = version.status == 0;
  const std::string options =
      " --synthetic --train-images 88 --batch-size 8 --lr 5e-6 --seed 3 --steps 20 --epochs 9";
  const std::string of_lightning =
      options + " --test-images 4 --no-augmentation --patience 9 --weights start.pt";
  const auto loop = [&](int ranks, const std::string& words) {
    return PeerRun{.ranks = ranks, .words = options + words};
  };
  const std::string weighted = " --weights start.pt --losses theirs.";
  const bool has_peer =
      run_peer(folder,
               EXAMPLES_FOLDER "/../tests/worker/examples/lightning_loop.py",
               {loop(1, " --export start.pt"), loop(1, weighted + "1"), loop(2, weighted + "2")});
  if (!has_peer) return;
  for (const int ranks : {1, 2}) {
    const auto losses_of = [&](const std::string& command, const std::string& name) {
      const std::string losses = text(name, ".", ranks);
      const CommandResult job = lightning_job(
          folder, ranks, command, text(of_lightning, " --losses ", losses, " --log log.", losses));
      INFO(job.error);
      REQUIRE(job.status == 0);
      return losses_in(folder / losses);
    };
    const std::vector<double> ours = losses_of(EXAMPLE_LIGHTNING, "ours");
    const std::vector<double> theirs =
        has_lightning ? losses_of(python + " " EXAMPLES_FOLDER "/lightning/lightning.py", "theirs")
                      : losses_in(folder / text("theirs.", ranks));
    REQUIRE(ours.size() == 20);
    REQUIRE(theirs.size() == 20);
    // Another version rounds convolutions in another way, as does another kind of processor. From
    // the fifth step on that may decide on which side of 0 a ReLU's input is. In four steps a
    // learning rate that is wrong by a fiftieth makes a difference of 4e-5.
    const bool has_other_version = has_lightning && !version.output.starts_with(TORCH_VERSION);
    const std::size_t compared_count = has_other_version ? 4 : 20;
    const double allowed = has_other_version ? 1e-5 : 1e-4;
    double difference_max = 0;
    for (std::size_t i = 0; i < compared_count; ++i) {
      difference_max = std::max(difference_max, std::abs(ours[i] - theirs[i]));
    }
    MESSAGE(ranks << " ranks: the largest difference in " << compared_count << " steps is "
                  << difference_max);
    CHECK(difference_max < allowed);
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (contains(entry.path().filename(), "snapshot.pt")) std::filesystem::remove(entry.path());
    }
  }
}

}  // namespace
}  // namespace ddprun::worker
