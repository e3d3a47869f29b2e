#include "ddprun/image_transforms.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/images/pictures.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <limits>
#include <string>
#include <utility>

namespace ddprun::worker {
namespace {

using test::contains;
using test::crc_of_picture;
using test::error_of;

torch::Tensor the_picture() {
  return test::formula_picture(37, 23);
}

std::uint32_t torchvision_crc(const std::string& name) {
  return test::changed_pictures.at(name);
}

TEST_CASE("transforms: resize gives the bits of torchvision, larger and smaller") {
  CHECK(crc_of_picture(resize(the_picture(), 16)) == torchvision_crc("resize 16"));
  CHECK(crc_of_picture(resize(the_picture(), 50)) == torchvision_crc("resize 50"));
  CHECK(crc_of_picture(resize(the_picture(), 9, 31)) == torchvision_crc("resize 9x31"));
  CHECK(crc_of_picture(resize(the_picture(), 1, 1)) == torchvision_crc("resize 1x1"));
  CHECK(torch::equal(resize(the_picture(), 23), the_picture()));
}

TEST_CASE("transforms: a crop of the middle is that of torchvision, with black around if small") {
  for (const std::int64_t side : {16, 23, 30, 40}) {
    CAPTURE(side);
    CHECK(crc_of_picture(center_crop(the_picture(), side)) ==
          torchvision_crc("center " + std::to_string(side)));
  }
}

TEST_CASE("transforms: a rotation is that of torchvision") {
  for (const auto& each : {std::pair{0.0, "0"},
                           {30.0, "30"},
                           {-17.5, "-17.5"},
                           {90.0, "90"},
                           {180.0, "180"},
                           {400.0, "400"}}) {
    CAPTURE(each.first);
    CHECK(crc_of_picture(rotate(the_picture(), each.first)) ==
          torchvision_crc(std::string("rotate ") + each.second));
  }
}

TEST_CASE("transforms: what is drawn with a seed is what torchvision draws with it") {
  const std::vector<std::pair<std::string, Transform>> transforms = {
      {"crop", [](const auto& image, auto& draws) { return random_crop(image, 20, 3, draws); }},
      {"resized",
       [](const auto& image, auto& draws) { return random_resized_crop(image, 16, draws); }},
      {"part",
       [](const auto& image, auto& draws) {
         return random_resized_crop(image, 16, draws, {.scale = {0.9, 1}, .ratio = {2.5, 3}});
       }},
      {"flip", [](const auto& image, auto& draws) { return random_horizontal_flip(image, draws); }},
      {"rotation",
       [](const auto& image, auto& draws) { return random_rotation(image, 25, draws); }},
      {"affine",
       [](const auto& image, auto& draws) {
         return random_affine(image, {.scale = {0.8, 1.2}, .shear_max = 20}, draws);
       }},
  };
  for (const auto& each : transforms) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      CAPTURE(each.first);
      CAPTURE(seed);
      torch::Generator draws = at::detail::createCPUGenerator(seed);
      CHECK(crc_of_picture(each.second(the_picture(), draws)) ==
            torchvision_crc(each.first + " " + std::to_string(seed)));
    }
  }
}

TEST_CASE("transforms: normalize gives the bits of ToTensor and Normalize") {
  const torch::Tensor result = normalize(the_picture(), imagenet_mean, imagenet_deviation);
  CHECK(test::crc_of_bytes(result) == torchvision_crc("normalize"));
}

TEST_CASE("transforms: the memory's order and views make no difference") {
  const torch::Tensor planes = the_picture().contiguous();
  const torch::Tensor view = the_picture().narrow(1, 3, 17).narrow(2, 5, 20);
  torch::Generator draws = at::detail::createCPUGenerator(3);
  CHECK(torch::equal(resize(planes, 16), resize(the_picture(), 16)));
  CHECK(torch::equal(resize(view, 11, 12), resize(view.contiguous(), 11, 12)));
  CHECK(torch::equal(rotate(view, 20), rotate(view.contiguous(), 20)));
  CHECK(torch::equal(normalize(view, {0, 0, 0}, {1, 1, 1}), view.to(torch::kFloat) / 255));
  CHECK(torch::equal(random_horizontal_flip(view, draws, 1), view.flip(2)));
}

TEST_CASE("transforms: in_turn() does one after the other") {
  const Transform both = in_turn({[](const auto& image, auto&) { return resize(image, 30); },
                                  [](const auto& image, auto&) { return center_crop(image, 8); }});
  torch::Generator draws = at::detail::createCPUGenerator(0);
  CHECK(torch::equal(both(the_picture(), draws), center_crop(resize(the_picture(), 30), 8)));
}

TEST_CASE("transforms: what is no picture or no size is refused") {
  const auto refused = [](const std::string& why, const auto& action) {
    CHECK(contains(error_of([&] { static_cast<void>(action()); }), why));
  };
  torch::Generator draws = at::detail::createCPUGenerator(0);
  refused("needs uint8 and (3, H, W)", [] { return resize(torch::zeros({3, 4, 4}), 2); });
  refused("[1, 4, 4]", [] { return center_crop(torch::zeros({1, 4, 4}, torch::kByte), 2); });
  refused("[3, 0, 4]", [] { return rotate(torch::zeros({3, 0, 4}, torch::kByte), 2); });
  refused("cannot become 0", [] { return resize(the_picture(), 0); });
  refused("cannot become 40000", [] { return resize(the_picture(), 40000, 1); });
  refused("cannot become -1", [] { return center_crop(the_picture(), -1); });
  refused("padded by -1", [] { return pad(the_picture(), -1); });
  refused("37x23 pixels cannot be cropped to 24x24",
          [&] { return random_crop(the_picture(), 24, 0, draws); });
  const auto cropped = [&](const RandomResizedCropOptions& options) {
    return [&draws, options] { return random_resized_crop(the_picture(), 8, draws, options); };
  };
  refused("scale of a random change cannot go from 1 to 0.5", cropped({.scale = {1, 0.5}}));
  refused("scale of a random change cannot go from 0 to 1", cropped({.scale = {0, 1}}));
  refused("ratio of a random change cannot go from 1 to 1e+09", cropped({.ratio = {1, 1e9}}));
  for (const double shear : {0.0, 90.0, -1.0}) {
    refused(text("sheared by ", shear, " degrees"),
            [&] { return random_affine(the_picture(), {.shear_max = shear}, draws); });
  }
  refused("scale of a random change cannot go from 0 to 1", [&] {
    return random_affine(the_picture(), {.scale = {0, 1}, .shear_max = 1}, draws);
  });
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  refused("rotated by nan degrees", [&] { return rotate(the_picture(), nan); });
  refused("rotated by inf degrees",
          [&] { return random_rotation(the_picture(), infinity, draws); });
}

TEST_CASE("transforms: a rotation by at most -30 degrees is one by at most 30") {
  torch::Generator draws = at::detail::createCPUGenerator(4);
  torch::Generator same_draws = at::detail::createCPUGenerator(4);
  CHECK(torch::equal(random_rotation(the_picture(), -30, draws),
                     random_rotation(the_picture(), 30, same_draws)));
}

}  // namespace
}  // namespace ddprun::worker
