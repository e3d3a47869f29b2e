// The example dogs_vs_cats as its users run it, on small pictures and an eighth of its channels.
#include "ddprun/error.hpp"
#include "ddprun/module_state.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/vgg.hpp"
#include "ddprun/weights.hpp"
#include "examples/dogs_vs_cats/net.hpp"
#include "examples/dogs_vs_cats/pictures.hpp"
#include "tests/worker/examples/peer_losses.hpp"
#include "tests/worker/images/pictures.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

namespace dogs = examples::dogs;
using namespace examples::test;

/// One epoch of each phase.
const std::string small_job =
    " --side 32 --width 8 --epochs 1 --fine-tuning-epochs 1 --no-augmentation ";

CommandResult tell_dogs(const TemporaryFolder& folder,
                        int ranks,
                        const std::string& options,
                        const std::string& of_ddprun = "") {
  return test::run_command(
      folder,
      text("OMP_NUM_THREADS=1 timeout 60 " DDPRUN_PROGRAM " --standalone --nproc-per-node ",
           ranks,
           " ",
           of_ddprun,
           " " EXAMPLE_DOGS_VS_CATS,
           small_job,
           options));
}

TEST_CASE("dogs_vs_cats: losses and lines are those of Python, in both phases, also restarted") {
  const TemporaryFolder folder;
  const std::string options = "--synthetic --images 20 --batch-size 2 --scaling strong ";
  const auto words = [&](const std::string& more) { return small_job + options + more; };
  const std::string weighted = "--weights weights.pt --losses python.";
  const bool has_python = run_peer(folder,
                                   "dogs_vs_cats/dogs_vs_cats.py",
                                   {{.ranks = 1, .words = words("--export weights.pt")},
                                    {.ranks = 1, .words = words(weighted + "1")},
                                    {.ranks = 2, .words = words(weighted + "2")}});
  if (!has_python) return;
  torch::manual_seed(42);  // that of both programs
  const StateDict drawn = state_dict(*dogs::Net(32, 8));
  for (const auto& entry : read_weights(folder / "weights.pt")) {
    CHECK_MESSAGE(torch::equal(drawn[entry.key()], entry.value()), entry.key());
  }
  const std::string weights = options + "--weights weights.pt --losses ";
  const auto check = [&](int ranks, const std::vector<double>& losses) {
    CAPTURE(ranks);
    CHECK(losses.size() == 20);
    CHECK(are_close(losses, losses_in(folder / text("python.", ranks))));
  };
  const CommandResult one = tell_dogs(folder, 1, weights + "one", "--snapshot one.pt");
  CAPTURE(one.error);
  REQUIRE(one.status == 0);
  check(1, losses_in(folder / "one"));
  for (const char* line : {"Train: Found 20 images belonging to 2 classes\n",
                           "Epoch 1: train accuracy: ",
                           "%, val accuracy: ",
                           "Total training time: 0:",
                           "Testing (pretrained, before fine-tuning): accuracy: ",
                           "Epoch 2: train loss: 0.",
                           "Total fine-tuning time: 0:",
                           "Testing (pretrained, after fine-tuning): accuracy: ",
                           "result: epochs=2 steps=20 loss=0."}) {
    CAPTURE(line);
    CHECK(contains(one.output, line));
    CHECK(contains(test::read_bytes(folder / "peer.1.0"), line));
  }
  std::vector<double> losses;
  for (const int steps : {14, 0}) {  // a restart in the second phase
    const CommandResult part =
        tell_dogs(folder, 2, text(weights, "part --steps ", steps), "--snapshot two.pt");
    CAPTURE(part.error);
    REQUIRE(part.status == 0);
    CHECK(contains(part.output, "before fine-tuning") == (steps > 0));
    const auto these = losses_in(folder / "part");
    losses.insert(losses.end(), these.begin(), these.end());
  }
  check(2, losses);
}

/// Of one process that nobody has launched.
std::string error_of_dogs(const TemporaryFolder& folder,
                          const std::string& options,
                          const std::string& environment = "") {
  const std::string program = environment + "timeout 60 " EXAMPLE_DOGS_VS_CATS;
  const CommandResult ran = test::run_command(folder, program + small_job + options);
  CHECK((ran.status == 1 || ran.status == 2));
  return ran.error;
}

void write_pictures_of_dogs(const TemporaryFolder& folder, const std::string& data) {
  for (const char* part : {"train", "validation"}) {
    for (const char* animal : {"cats", "dogs"}) {
      const std::string below = text(data, "/", part, "/", animal);
      std::filesystem::create_directories(folder / below);
      for (const char* name : {"1.jpg", "2.jpg"}) {
        test::write_bytes(folder / (below + "/" + name), test::encoded_picture("jpeg 4:4:4"));
      }
    }
  }
}

TEST_CASE("dogs_vs_cats: a batch that ranks cannot divide and a damaged picture are named") {
  const TemporaryFolder folder;
  const std::string as_one_of_two = "RANK=0 WORLD_SIZE=2 MASTER_ADDR=nowhere MASTER_PORT=1 ";
  CHECK(contains(error_of_dogs(folder, "--batch-size 3 --scaling strong", as_one_of_two),
                 "--scaling strong cannot divide --batch-size 3 among 2 ranks; give a multiple"));
  write_pictures_of_dogs(folder, "data");
  const std::string bad_picture = "data/train/dogs/2.jpg";
  test::write_bytes(folder / bad_picture, "\xff\xd8 not a picture");
  CHECK(contains(error_of_dogs(folder, "--data data"), bad_picture));
}

TEST_CASE("dogs_vs_cats: a training that ends in its first phase is tested before fine-tuning") {
  const TemporaryFolder folder;
  const CommandResult cut = run_command(
      folder, EXAMPLE_DOGS_VS_CATS + small_job + "--synthetic --images 4 --batch-size 2 --steps 1");
  CAPTURE(cut.error);
  CHECK(cut.status == 0);
  CHECK(contains(cut.output, "Testing (pretrained, before fine-tuning): accuracy: "));
  CHECK_FALSE(contains(cut.output, "after fine-tuning"));
  CHECK(contains(cut.output, "result: epochs=0 steps=1 "));
}

TEST_CASE("dogs_vs_cats: the validation is the test where there is none, classes are two") {
  const TemporaryFolder folder;
  const auto open = [&] {
    return dogs::open_pictures(
        {.data = folder / "data", .synthetic = 0, .side = 32, .is_augmented = true, .seed = 1});
  };
  write_pictures_of_dogs(folder, "data");
  std::filesystem::remove(folder / "data/validation/cats/2.jpg");
  CHECK(open().training.size() == 4);
  CHECK(open().test.size() == 3);
  std::filesystem::copy(
      folder / "data/train", folder / "data/test", std::filesystem::copy_options::recursive);
  CHECK(open().test.size() == 4);
  CHECK(open().validation.size() == 3);
  torch::Generator draws = at::detail::createCPUGenerator(1);
  const Sample sample = open().training.get(3, draws);
  CHECK(sample.input.sizes() == torch::IntArrayRef{3, 32, 32});
  CHECK(sample.target.item<std::int64_t>() == 1);
  std::filesystem::create_directory(folder / "data/test/wolves");
  test::write_bytes(folder / "data/test/wolves/1.jpg", test::encoded_picture("jpeg 4:4:4"));
  CHECK(contains(test::error_of([&] { open(); }), "/test has 3 classes, not cats and dogs; give"));
  const dogs::PictureOptions nothing{
      .data = "", .synthetic = 0, .side = 32, .is_augmented = false, .seed = 1};
  CHECK(contains(test::error_of([&] { dogs::open_pictures(nothing); }), "give --data FOLDER, or"));
}

TEST_CASE("dogs_vs_cats: of torchvision's VGG-16 the features are taken, and all of its own") {
  const TemporaryFolder folder;
  StateDict state;
  for (const auto& entry : state_dict(*vgg16_features(8))) {
    state.insert("features." + entry.key(), entry.value());
  }
  state.insert("classifier.0.weight", torch::ones({3, 3}));
  write_pt_file(folder / "vgg16.pt", to_value(state));
  dogs::Net net(32, 8);
  const torch::Tensor head = net->head->parameters()[0].clone();
  dogs::load_weights(net, folder / "vgg16.pt");
  CHECK(torch::equal(state_dict(*net)["features.28.weight"], state["features.28.weight"]));
  CHECK(torch::equal(net->head->parameters()[0], head));
  write_pt_file(folder / "own.pt", to_value(state_dict(*net)));
  dogs::Net other(32, 8);
  dogs::load_weights(other, folder / "own.pt");
  CHECK(torch::equal(other->head->parameters()[0], head));
  state["features.28.bias"] = torch::ones({3});
  write_pt_file(folder / "vgg16.pt", to_value(state));
  CHECK(contains(test::error_of([&] { dogs::load_weights(net, folder / "vgg16.pt"); }),
                 "vgg16.pt has no weights of this network: it has 1 of another shape "
                 "(features.28.bias is [3], the model's [64]); give those of a VGG-16"));
}

TEST_CASE("dogs_vs_cats: what one rank lacks ends all with one cause, and so do too few pictures") {
  const TemporaryFolder folder;
  for (const char* rank : {"0", "1"}) std::filesystem::create_directory(folder / rank);
  write_pictures_of_dogs(folder, "0/data");
  const CommandResult half = tell_dogs(folder, 2, "--data data'", "sh -c 'cd $RANK && exec");
  CAPTURE(half.error);
  CHECK(half.status == 1);
  CHECK(contains(half.error, "cannot read data/train: No such file or directory; check the path"));
  CHECK(contains(half.error, "(on rank 1)"));
  const CommandResult few = tell_dogs(folder, 2, "--synthetic --images 1");
  CAPTURE(few.error);
  CHECK(few.status == 1);
  CHECK(contains(few.error, "the training has 2 ranks, and its data 1 sample"));
  CHECK(test::processes_in(folder).empty());
}

}  // namespace
}  // namespace ddprun::worker
