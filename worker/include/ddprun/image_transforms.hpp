// Changes of pictures before a network sees them, with the results of torchvision's transforms on
// Pillow's images. The random ones draw the same numbers as torchvision's, in the same order, so a
// generator with the seed of Python's gives the same picture.
//
// A picture is (3, H, W) uint8 on the CPU; results may share its memory. Arguments that are out of
// range throw Error. For any thread.
#pragma once

#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace ddprun::worker {

/// Makes of a picture what comes next in a row of changes; all that it draws comes from `draws`.
using Transform = std::function<torch::Tensor(const torch::Tensor& image, torch::Generator& draws)>;

/// All `steps`, one after the other.
[[nodiscard]] Transform in_turn(std::vector<Transform> steps);

/// (3, height, width), bilinear with antialias; bit by bit that of Pillow.
[[nodiscard]] torch::Tensor resize(const torch::Tensor& image,
                                   std::int64_t height,
                                   std::int64_t width);
/// The shorter side has `side` pixels then, and the ratio of the sides stays.
[[nodiscard]] torch::Tensor resize(const torch::Tensor& image, std::int64_t side);

/// `padding` black pixels more at each side.
[[nodiscard]] torch::Tensor pad(const torch::Tensor& image, std::int64_t padding);

/// The middle `side` times `side` pixels; black ones around a picture that is smaller.
[[nodiscard]] torch::Tensor center_crop(const torch::Tensor& image, std::int64_t side);

/// Any `side` times `side` pixels of the picture with `padding`.
[[nodiscard]] torch::Tensor random_crop(const torch::Tensor& image,
                                        std::int64_t side,
                                        std::int64_t padding,
                                        torch::Generator& draws);

struct RandomResizedCropOptions {
  std::array<double, 2> scale = {0.08, 1.0};             ///< Part of the area, from and to.
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};  ///< Width by height, from and to.
};

/// Any part of the picture, resized to `side` times `side` pixels.
[[nodiscard]] torch::Tensor random_resized_crop(const torch::Tensor& image,
                                                std::int64_t side,
                                                torch::Generator& draws,
                                                const RandomResizedCropOptions& options = {});

/// With `probability`, left and right change places.
[[nodiscard]] torch::Tensor random_horizontal_flip(const torch::Tensor& image,
                                                   torch::Generator& draws,
                                                   double probability = 0.5);

/// Counterclockwise by `degrees` around the middle, at the same size; each pixel is its nearest old
/// one, or black.
[[nodiscard]] torch::Tensor rotate(const torch::Tensor& image, double degrees);
/// By at most `degrees_max` in both directions.
[[nodiscard]] torch::Tensor random_rotation(const torch::Tensor& image,
                                            double degrees_max,
                                            torch::Generator& draws);

struct RandomAffineOptions {
  std::array<double, 2> scale = {1.0, 1.0};  ///< The factor of both sides, from and to.
  double shear_max = 0;                      ///< Degrees in both directions, above 0 and below 90.
};

/// Scaled around the middle, and rows moved to the left or right the more the farther they are from
/// it; at the same size, each pixel is its nearest old one, or black. As torchvision's RandomAffine
/// without rotations.
[[nodiscard]] torch::Tensor random_affine(const torch::Tensor& image,
                                          const RandomAffineOptions& options,
                                          torch::Generator& draws);

using OfChannels = std::array<float, 3>;  ///< A number for red, green and blue.
inline constexpr OfChannels imagenet_mean{0.485F, 0.456F, 0.406F};
inline constexpr OfChannels imagenet_deviation{0.229F, 0.224F, 0.225F};

/// (3, H, W) float32: (value / 255 - mean) / deviation, bit by bit that of ToTensor and Normalize.
[[nodiscard]] torch::Tensor normalize(const torch::Tensor& image,
                                      const OfChannels& mean,
                                      const OfChannels& deviation);

}  // namespace ddprun::worker
