// The pictures of dogs and cats: a folder of the course's, or made up.
#pragma once

#include "ddprun/error.hpp"
#include "ddprun/image_folder.hpp"
#include "ddprun/transformed_data.hpp"
#include "examples/shared/pictures.hpp"
#include "examples/shared/synthetic_images.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

namespace ddprun::examples::dogs {

struct DogsAndCats {
  Pictures training;
  Pictures validation;
  Pictures test;
};

struct PictureOptions {
  std::string data;        ///< A folder with train, validation and test; or else `synthetic`.
  std::int64_t synthetic;  ///< So many made-up pictures for the training. 0: those in `data`.
  std::int64_t side;       ///< Pixels.
  bool is_augmented;
  std::uint64_t seed;  ///< Of made-up pictures.
};

/// Square, with the mean and deviation of ImageNet taken out, as VGG-16's weights expect it.
inline worker::Transform transform(const PictureOptions& options, bool is_augmented) {
  return [side = options.side, is_augmented](const torch::Tensor& image, torch::Generator& draws) {
    torch::Tensor result = worker::resize(image, side, side);
    if (is_augmented) {
      result = worker::random_affine(result, {.scale = {0.8, 1.2}, .shear_max = 0.2}, draws);
      result = worker::random_horizontal_flip(result, draws);
    }
    return worker::normalize(result, worker::imagenet_mean, worker::imagenet_deviation);
  };
}

inline Pictures pictures_in(const std::filesystem::path& folder, worker::Transform transform) {
  worker::ImageFolder pictures(folder, {.transform = std::move(transform)});
  if (pictures.classes().size() != 2) {
    throw worker::Error(worker::text(folder.string(),
                                     " has ",
                                     pictures.classes().size(),
                                     " classes, not cats and dogs; give --data the folder that has "
                                     "train/cats and train/dogs"));
  }
  return Pictures(std::make_shared<const worker::ImageFolder>(std::move(pictures)));
}

/// Where there is no folder `test`, that of the validation is the test.
inline DogsAndCats open_pictures(const PictureOptions& options) {
  const worker::Transform changed = transform(options, options.is_augmented);
  const worker::Transform plain = transform(options, false);
  if (options.synthetic > 0) {
    const auto made_up = [&](std::int64_t count, std::uint64_t seed, const auto& transform) {
      const SyntheticImages images(
          {.images_count = count, .classes_count = 2, .side = options.side}, seed);
      return Pictures(std::make_shared<const worker::TransformedData<SyntheticImages>>(
          worker::TransformedData(images, transform)));
    };
    const std::int64_t others = (options.synthetic + 3) / 4;
    return {made_up(options.synthetic, options.seed, changed),
            made_up(others, options.seed + 1, plain),
            made_up(others, options.seed + 2, plain)};
  }
  if (options.data.empty()) {
    throw worker::Error("there are no pictures; give --data FOLDER, or --synthetic");
  }
  const std::filesystem::path folder = options.data;
  const bool has_test = std::filesystem::exists(folder / "test");
  return {pictures_in(folder / "train", changed),
          pictures_in(folder / "validation", plain),
          pictures_in(folder / (has_test ? "test" : "validation"), plain)};
}

}  // namespace ddprun::examples::dogs
