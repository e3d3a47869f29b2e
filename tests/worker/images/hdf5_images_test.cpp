#include "ddprun/hdf5_images.hpp"

#include "ddprun/batch_loader.hpp"
#include "ddprun/image_folder.hpp"
#include "tests/worker/images/pictures.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <sys/stat.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

using test::contains;
using test::encoded_picture;
using test::error_of;
using test::TemporaryFolder;

std::string hdf5_error(const std::filesystem::path& path, std::int64_t classes_count = 0) {
  return error_of([&] { const Hdf5Images data(path, {.classes_count = classes_count}); });
}

#ifdef DDPRUN_HDF5

/// Runs a script that may call `write(name, images, labels)`. False without h5py, which is said.
bool with_h5py(const TemporaryFolder& folder, const std::string& script) {
  const auto output = test::run_python(folder, R"(
try:
    import h5py
except ImportError:
    print("no h5py")
    exit(0)
import numpy as np
from numpy import arange, int64, uint8, zeros

def write(name, images, labels):
    with h5py.File(name, "w") as file:
        if images is not None: file["images"] = images
        if labels is not None: file["labels"] = labels
)" + script);
  if (output && contains(*output, "no h5py")) {
    std::puts("skipped: Python cannot import h5py (apt install python3-h5py)");
    return false;
  }
  if (output) REQUIRE(*output == "");
  return output.has_value();
}

/// A folder of three pictures in two classes, packed by examples/folder_to_hdf5.py.
bool pack_folder(const TemporaryFolder& folder) {
  if (!with_h5py(folder, "")) return false;
  for (const char* const name : {"cats/sub", "dogs"}) {
    std::filesystem::create_directories(folder / "in" / name);
  }
  test::write_bytes(folder / "in/cats/sub/b.JPG", encoded_picture("jpeg 4:2:0"));
  test::write_bytes(folder / "in/cats/c.jpeg", encoded_picture("jpeg grey"));
  test::write_bytes(folder / "in/dogs/a.jpg", encoded_picture("jpeg 4:4:4"));
  test::write_bytes(folder / "in/dogs/notes.txt", "");
  const auto ran = test::run_command(
      folder, std::string("/usr/bin/python3 ") + FOLDER_TO_HDF5 + " in packed.h5");
  CHECK(ran.output == "packed.h5: 3 pictures of 2 classes\n");
  REQUIRE_MESSAGE(ran.status == 0, ran.error);
  return true;
}

TEST_CASE("hdf5: a folder that was packed has the samples of ImageFolder") {
  const TemporaryFolder folder;
  if (!pack_folder(folder)) return;
  const ImageFolder expected(folder / "in");
  const Hdf5Images data(folder / "packed.h5", {.classes_count = 2});
  CHECK(data.classes() == expected.classes());
  REQUIRE(data.size() == expected.size());
  torch::Generator draws = at::detail::createCPUGenerator();
  for (std::int64_t i = 0; i < data.size(); ++i) {
    CHECK(torch::equal(data.get(i, draws).input, expected.get(i, draws).input));
    CHECK(torch::equal(data.get(i, draws).target, expected.get(i, draws).target));
  }
  const Hdf5Images small(folder / "packed.h5", {.transform = [](const auto& each, auto&) {
                           return center_crop(each, 4);
                         }});
  CHECK(torch::equal(small.get(1, draws).input, center_crop(expected.get(1, draws).input, 4)));
}

TEST_CASE("hdf5: pixels are read as they are, with labels of any integers, by many threads") {
  const TemporaryFolder folder;
  if (!with_h5py(folder, R"(
write("x.h5", (arange(64 * 4 * 5 * 3) % 251).astype(uint8).reshape(64, 4, 5, 3),
      arange(64).astype(np.int16))
)")) {
    return;
  }
  const Hdf5Images data(folder / "x.h5");
  const Hdf5Images other(folder / "x.h5");
  BatchLoader loader(data, {.threads = 4});
  BatchLoader second_loader(other, {.threads = 4});
  std::vector<std::int64_t> all(64);
  std::iota(all.begin(), all.end(), 0);
  const torch::Tensor pixels = torch::arange(64 * 4 * 5 * 3).remainder(251).to(torch::kByte);
  for (int turn = 0; turn < 8; ++turn) {
    for (BatchLoader* each : {&loader, &second_loader}) each->ask(all, 0);
    for (BatchLoader* each : {&loader, &second_loader}) {
      const Batch batch = each->next();
      CHECK(torch::equal(batch.inputs, pixels.view({64, 4, 5, 3}).permute({0, 3, 1, 2})));
      CHECK(torch::equal(batch.targets, torch::arange(64)));
    }
  }
}

TEST_CASE("hdf5: a file that does not have what it needs is an error that says what") {
  const TemporaryFolder folder;
  if (!with_h5py(folder, R"(
pixels = zeros((2, 4, 5, 3), uint8)
write("no_images.h5", None, [0, 1])
write("no_labels.h5", pixels, None)
write("floats.h5", pixels.astype(np.float32), [0, 1])
write("signed.h5", pixels.astype(np.int8), [0, 1])
write("planes.h5", zeros((2, 3, 4, 5), uint8), [0, 1])
write("flat.h5", zeros(2, uint8), [0, 1])
write("few_labels.h5", pixels, [0])
write("float_labels.h5", pixels, [0., 1.])
write("negative.h5", pixels, [0, -1])
write("two.h5", pixels, [0, 2])
write("none.h5", pixels[:0], zeros(0, int64))
write("strings.h5", ["a", "b"], [0, 1])
with h5py.File("large.h5", "w") as file:
    file.create_dataset("images", (1, 1 << 20, 1 << 20, 3), uint8, chunks=(1, 1, 8, 3))
    file["labels"] = [0]
with h5py.File("many.h5", "w") as file:
    file.create_dataset("images", (1 << 40, 4, 5, 3), uint8, chunks=(1, 4, 5, 3))
    file.create_dataset("labels", (1 << 40,), int64, chunks=(1,))
with h5py.File("group.h5", "w") as file:
    file.create_group("images")
    file["labels"] = [0]
)")) {
    return;
  }
  const std::string whole = test::read_bytes(folder / "two.h5");
  test::write_bytes(folder / "cut.h5", whole.substr(0, whole.size() - 100));
  test::write_bytes(folder / "text.h5", "no HDF5");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const std::string shapes = "images is neither (N, H, W, 3) uint8 nor (N,) uint8 of variable";
  const std::vector<std::pair<std::string, std::string>> table = {
      {"none", "No such file or directory"},
      {"pipe", "not a regular file"},
      {"text.h5", "cannot open it: "},
      {"cut.h5", "truncated file"},
      {"no_images.h5", "cannot open the dataset images: "},
      {"no_labels.h5", "cannot open the dataset labels: "},
      {"group.h5", "cannot open the dataset images: "},
      {"floats.h5", shapes},
      {"signed.h5", shapes},
      {"planes.h5", shapes},
      {"flat.h5", shapes},
      {"strings.h5", shapes},
      {"few_labels.h5", "labels is not one integer for each of 2 images"},
      {"float_labels.h5", "labels is not one integer for each of 2 images"},
      {"negative.h5", "label 1 is -1, not one of 0, 1, and so on"},
      {"none.h5", "it has no pictures"},
      {"large.h5", "1048576x1048576 pixels are none, or too large"},
      {"many.h5", "it has 1099511627776 pictures, more than 100000000"},
  };
  for (const auto& row : table) {
    const std::string name = row.first;
    const std::string error = hdf5_error(folder / name);
    CHECK(contains(error, "cannot use " + (folder / name).string() + ": "));
    CHECK_MESSAGE(contains(error, row.second), name, ": ", error);
  }
  CHECK(contains(hdf5_error(folder / "two.h5", 2), "label 1 is 2, not one of 0 to 1"));
  CHECK(hdf5_error(folder / "two.h5", 3).empty());
}

TEST_CASE("hdf5: classes are a row of short names, one for each label and class of the network") {
  const TemporaryFolder folder;
  if (!with_h5py(folder, R"(
for name, classes in (("fixed", np.array([b"a", b"bees"])), ("one", ["a"]), ("number", [1]),
                      ("scalar", "a"), ("long", ["a", "b" * 1001]), ("empty", ["a", ""])):
    write(name + ".h5", zeros((2, 4, 5, 3), uint8), [0, 1])
    with h5py.File(name + ".h5", "a") as file: file["classes"] = classes
)")) {
    return;
  }
  const Hdf5Images fixed(folder / "fixed.h5");
  CHECK(fixed.classes() == std::vector<std::string>{"a", "bees"});
  CHECK(contains(hdf5_error(folder / "fixed.h5", 3), "it has 2 classes, and 3 are expected"));
  CHECK(contains(hdf5_error(folder / "one.h5"), "label 1 is 1, not one of 0 to 0"));
  CHECK(contains(hdf5_error(folder / "number.h5"), "classes is not a row of strings"));
  CHECK(contains(hdf5_error(folder / "scalar.h5"), "classes is not a row of strings"));
  CHECK(contains(hdf5_error(folder / "long.h5"), "cannot read classes: "));
  CHECK(Hdf5Images(folder / "empty.h5").classes() == std::vector<std::string>{"a", ""});
}

TEST_CASE("hdf5: a picture that cannot be decoded or changed is named") {
  const TemporaryFolder folder;
  if (!with_h5py(folder, R"(
with h5py.File("x.h5", "w") as file:
    images = file.create_dataset("images", (2,), h5py.vlen_dtype(uint8))
    images[0] = np.frombuffer(b"no picture", uint8)
    file["labels"] = [0, 0]
write("small.h5", zeros((1, 4, 5, 3), uint8), [0])
)")) {
    return;
  }
  torch::Generator draws = at::detail::createCPUGenerator();
  const Hdf5Images data(folder / "x.h5");
  for (const char* const number : {"0", "1"}) {
    CHECK(contains(error_of([&] { static_cast<void>(data.get(*number - '0', draws)); }),
                   "cannot decode picture " + std::string(number) + " of " +
                       (folder / "x.h5").string() + ": it is neither a JPEG nor a PNG"));
  }
  const Hdf5Images small(folder / "small.h5", {.transform = [](const auto& each, auto& random) {
                           return random_crop(each, 30, 0, random);
                         }});
  CHECK(contains(error_of([&] { static_cast<void>(small.get(0, draws)); }),
                 "cannot transform picture 0 of "));
}

#else

TEST_CASE("hdf5: without its library the error says what to install") {
  const TemporaryFolder folder;
  CHECK(contains(hdf5_error(folder / "x.h5"), "built without HDF5; install libhdf5-dev"));
}

#endif

}  // namespace
}  // namespace ddprun::worker
