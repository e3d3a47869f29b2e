// Where the examples' pictures come from, and what is said where they cannot be read.
#include "examples/shared/pictures.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/images/pictures.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

namespace ddprun::examples {
namespace {

using std::filesystem::path;
using worker::text;
using worker::test::contains;
using worker::test::error_of;
using worker::test::run_command;
using worker::test::TemporaryFolder;

constexpr std::int64_t insect_classes = 2;
constexpr PictureOptions of_33{.side = 33};

/// `data` with train/ and val/, each with a picture of each class.
void write_insects(const path& data) {
  for (const char* const part : {"train", "val"}) {
    for (const char* const name : {"ants", "bees"}) {
      std::filesystem::create_directories(data / part / name);
      worker::test::write_bytes(data / part / name / "1.jpg",
                                worker::test::encoded_picture("jpeg 4:2:0"));
    }
  }
}

/// What each of two ranks is told that opens the pictures of its own folder.
std::array<std::string, 2> errors_of(const std::array<path, 2>& folders,
                                     const PictureOptions& options = of_33) {
  std::array<std::string, 2> errors;
  worker::test::run_ranks(2, [&](const worker::Context& context, const auto& group) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const JobOptions job{.data = folders[rank].string()};
    errors[rank] = error_of(
        [&] { static_cast<void>(open_pictures(job, options, insect_classes, false, group)); });
  });
  return errors;
}

TEST_CASE("examples: a folder that one rank alone can see is the same error on all") {
  const TemporaryFolder folder;
  write_insects(folder / "here");
  const auto errors = errors_of({folder / "here", folder / "nowhere"});
  CHECK(contains(errors[0], "nowhere/train: No such file or directory"));
  CHECK(contains(errors[0], "(on rank 1)"));
  CHECK(errors[1] == errors[0]);
  CHECK(errors_of({folder / "here", folder / "here"})[0] == "");
}

TEST_CASE("examples: pictures of other classes than the network's are named") {
  const TemporaryFolder folder;
  const path data = folder / "data";
  const auto error = [&] { return errors_of({data, data})[0]; };
  write_insects(data);
  std::filesystem::rename(data / "val" / "ants", data / "val" / "wasps");
  CHECK(contains(error(), "/val has other classes than train beside it: bees, wasps, not ants, "));
  write_insects(data / "train" / "birds");
  CHECK(contains(error(), "/train has 3 classes, and the network has 2; give --data"));
}

TEST_CASE("examples: HDF5 files without pictures or of other classes are one error on all ranks") {
  const TemporaryFolder folder;
  worker::test::write_bytes(folder / "write.py", R"(
import h5py, numpy, os
def write(folder, part, classes):
    os.makedirs(folder, exist_ok=True)
    with h5py.File(f"{folder}/{part}.h5", "w") as file:
        file["labels"] = [0]
        if classes:
            file["images"] = numpy.zeros((1, 40, 40, 3), numpy.uint8)
            file["classes"] = classes
write("none", "train", [])
write("other", "train", ["ants", "bees"])
write("other", "val", ["bees", "wasps"])
)");
  if (run_command(folder, "/usr/bin/python3 write.py").status != 0) {
    std::puts("skipped: Python cannot import h5py (apt install python3-h5py)");
    return;
  }
  PictureOptions options = of_33;
  options.hdf5 = true;
  const auto errors = errors_of({folder / "none", folder / "none"}, options);
  CAPTURE(errors[0]);
  CHECK(contains(errors[0], "train.h5"));
  CHECK(contains(errors[0], "images"));
  CHECK(errors[1] == errors[0]);
  const auto others = errors_of({folder / "other", folder / "other"}, options);
  CHECK(
      contains(others[0], "/val.h5 has other classes than train.h5 beside it: bees, wasps, not "));
  CHECK(others[1] == others[0]);
}

TEST_CASE("examples: pictures are squares, mirrored for the training alone, and read when needed") {
  const TemporaryFolder folder;
  write_insects(folder.path());
  worker::test::run_ranks(1, [&](const worker::Context&, const worker::ProcessGroup& group) {
    const JobOptions job{.data = folder.path().string()};
    const PictureSets sets = open_pictures(job, of_33, insect_classes, true, group);
    CHECK(sets.training.size() == 2);
    torch::Generator draws = at::detail::createCPUGenerator();
    const worker::Sample bee = sets.validation.get(1, draws);
    CHECK(bee.input.sizes() == torch::IntArrayRef{3, 33, 33});
    CHECK((bee.input.scalar_type() == torch::kFloat));
    CHECK(bee.target.item<std::int64_t>() == 1);
    int mirrored_count = 0;
    for (int i = 0; i < 100; ++i) {
      CHECK(torch::equal(sets.validation.get(1, draws).input, bee.input));
      const torch::Tensor other = sets.training.get(1, draws).input;
      const bool is_mirrored = !torch::equal(other, bee.input);
      if (is_mirrored) CHECK(torch::equal(other, bee.input.flip(2)));
      mirrored_count += is_mirrored ? 1 : 0;
    }
    CHECK(mirrored_count > 20);
    CHECK(mirrored_count < 80);
    worker::test::write_bytes(folder.path() / "train" / "ants" / "1.jpg", "no picture");
    const std::string damaged = error_of([&] { (void)sets.training.get(0, draws); });
    CHECK(contains(damaged, "ants/1.jpg: it is neither a JPEG nor a PNG"));
    const JobOptions none;
    CHECK(contains(error_of([&] { (void)open_pictures(none, of_33, insect_classes, true, group); }),
                   "give either --data DIR or --synthetic"));
  });
}

}  // namespace
}  // namespace ddprun::examples
