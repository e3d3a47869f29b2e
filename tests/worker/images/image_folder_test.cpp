#include "ddprun/image_folder.hpp"

#include "ddprun/batch_loader.hpp"
#include "ddprun/error.hpp"
#include "tests/worker/images/pictures.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <filesystem>
#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

using test::contains;
using test::encoded_picture;
using test::error_of;
using test::TemporaryFolder;

/// Writes a picture to each of these paths below `folder`.
void write_pictures(const TemporaryFolder& folder, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::filesystem::create_directories((folder / path).parent_path());
    test::write_bytes(folder / path, encoded_picture("jpeg 4:4:4"));
  }
}

std::vector<std::string> paths_in(const ImageFolder& data, const TemporaryFolder& folder) {
  std::vector<std::string> paths;
  for (std::int64_t i = 0; i < data.size(); ++i) {
    paths.push_back(data.file(i).lexically_relative(folder.path()).string());
  }
  return paths;
}

TEST_CASE("image folder: classes and samples are in torchvision's order") {
  const TemporaryFolder folder;
  // Made in no order. torchvision 0.29.2 lists this folder so.
  write_pictures(folder, {"dog/b.jpg", "dog/a/z.PNG", "dog/a/x/1.png", "dog/a-b/y.jpeg"});
  write_pictures(folder, {"dog/a/a.webp", "dog/B.Jpg", "Zebra/1.tiff", "Zebra/10.ppm"});
  write_pictures(folder, {"Zebra/9.bmp", "Zebra/.pgm", "cat/\xc3\xa4.tif"});
  test::write_bytes(folder / "dog/notes.txt", "");
  test::write_bytes(folder / "dog/c.gif", "");
  test::write_bytes(folder / "beside.jpg", "");
  std::filesystem::create_directory_symlink(folder / "dog/a", folder / "cat/link");
  const ImageFolder data(folder.path());
  CHECK(data.classes() == std::vector<std::string>{"Zebra", "cat", "dog"});
  const std::vector<std::string> expected = {"Zebra/.pgm",
                                             "Zebra/1.tiff",
                                             "Zebra/10.ppm",
                                             "Zebra/9.bmp",
                                             "cat/\xc3\xa4.tif",
                                             "cat/link/a.webp",
                                             "cat/link/z.PNG",
                                             "cat/link/x/1.png",
                                             "dog/B.Jpg",
                                             "dog/b.jpg",
                                             "dog/a/a.webp",
                                             "dog/a/z.PNG",
                                             "dog/a-b/y.jpeg",
                                             "dog/a/x/1.png"};
  CHECK(paths_in(data, folder) == expected);
}

TEST_CASE("image folder: a sample is the picture after the transform, and its class") {
  const TemporaryFolder folder;
  write_pictures(folder, {"a/1.jpg", "b/1.jpg"});
  torch::Generator draws = at::detail::createCPUGenerator();
  const ImageFolder plain(folder.path());
  const torch::Tensor image = decode_image(encoded_picture("jpeg 4:4:4"), "x");
  CHECK(torch::equal(plain.get(0, draws).input, image));
  CHECK(plain.get(1, draws).target.item<std::int64_t>() == 1);
  const ImageFolder small(
      folder.path(), {.transform = [](const auto& each, auto&) { return center_crop(each, 4); }});
  CHECK(torch::equal(small.get(1, draws).input, center_crop(image, 4)));
}

TEST_CASE("image folder: a broken picture stops the training, with its path") {
  const TemporaryFolder folder;
  write_pictures(folder, {"a/1.jpg", "a/2.jpg"});
  test::write_bytes(folder / "a/2.jpg", "<html>404</html>");
  const ImageFolder data(folder.path());
  BatchLoader loader(data, {.threads = 1});
  loader.ask({0, 1}, 0);
  const std::string error = error_of([&] { static_cast<void>(loader.next()); });
  CHECK(contains(error, "sample 1 of the data set cannot be used: cannot decode "));
  CHECK(contains(error, "/a/2.jpg: it is neither a JPEG nor a PNG"));
}

TEST_CASE("image folder: a transform that fails names the picture") {
  const TemporaryFolder folder;
  write_pictures(folder, {"a/1.jpg"});
  const ImageFolder data(folder.path(), {.transform = [](const auto& each, auto& draws) {
                           return random_crop(each, 30, 0, draws);
                         }});
  torch::Generator draws = at::detail::createCPUGenerator();
  CHECK(contains(error_of([&] { static_cast<void>(data.get(0, draws)); }),
                 "/a/1.jpg: a picture of 19x13 pixels cannot be cropped to 30x30"));
}

TEST_CASE("image folder: broken pictures can be left out, the others keep their classes") {
  const TemporaryFolder folder;
  write_pictures(folder, {"a/1.jpg", "a/2.jpg", "b/1.jpg", "b/2.jpg", "b/3.jpg"});
  test::write_bytes(folder / "a/1.jpg", "no picture");
  test::write_bytes(folder / "b/2.jpg", encoded_picture("jpeg 4:4:4").substr(0, 300));
  const ImageFolder data(folder.path(), {.bad_images = BadImages::skip});
  CHECK(paths_in(data, folder) == std::vector<std::string>{"a/2.jpg", "b/1.jpg", "b/3.jpg"});
  torch::Generator draws = at::detail::createCPUGenerator();
  CHECK(data.get(1, draws).target.item<std::int64_t>() == 1);
}

TEST_CASE("image folder: a folder without what it needs is refused") {
  const TemporaryFolder folder;
  const auto error_for = [](const std::filesystem::path& path, BadImages bad_images) {
    return error_of([&] { const ImageFolder data(path, {.bad_images = bad_images}); });
  };
  CHECK(contains(error_for(folder / "none", BadImages::stop), "none: No such file"));
  CHECK(contains(error_for(folder.path(), BadImages::stop), "no folder for a class"));
  write_pictures(folder, {"a/1.jpg", "b/1.txt"});
  CHECK(contains(error_for(folder.path(), BadImages::stop), "/b: this class has no picture"));
  std::filesystem::remove_all(folder / "b");
  std::filesystem::create_directory_symlink(folder / "a", folder / "a/itself");
  CHECK(contains(error_for(folder.path(), BadImages::stop), "deeper than 32"));
  std::filesystem::remove(folder / "a/itself");
  test::write_bytes(folder / "a/1.jpg", "");
  CHECK(contains(error_for(folder.path(), BadImages::skip), "no picture can be used"));
}

}  // namespace
}  // namespace ddprun::worker
