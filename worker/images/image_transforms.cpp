#include "ddprun/image_transforms.hpp"

#include "ddprun/error.hpp"
#include "worker/images/resample.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace ddprun::worker {
namespace {

constexpr std::int64_t side_max = 32767;
const double pi = std::acos(-1.0);

/// (H, W, 3) of an image, with the values of a row beside each other; a view where it has them so.
torch::Tensor pixels_of(const torch::Tensor& image) {
  if (image.dim() != 3 || image.size(0) != 3 || image.scalar_type() != torch::kByte ||
      image.size(1) < 1 || image.size(2) < 1) {
    throw Error(text("a transform of pictures got a tensor of ",
                     image.scalar_type(),
                     " and shape ",
                     image.sizes(),
                     "; it needs uint8 and (3, H, W)"));
  }
  torch::Tensor pixels = image.permute({1, 2, 0});
  return pixels.stride(1) == 3 && pixels.stride(2) == 1 ? pixels : pixels.contiguous();
}

void check_side(const char* what, std::int64_t side) {
  if (side < 1 || side > side_max) {
    throw Error(text("a picture's ", what, " cannot become ", side, "; it is 1 to ", side_max));
  }
}

/// `range` is one of positive numbers, none beyond what a picture may need.
void check_range(const char* what, const std::array<double, 2>& range) {
  constexpr double most = 1000;
  if (range[0] > 0 && range[0] <= range[1] && range[1] <= most) return;
  throw Error(text("the ",
                   what,
                   " of a random change cannot go from ",
                   range[0],
                   " to ",
                   range[1],
                   "; give two numbers above 0, the smaller one first, up to ",
                   most));
}

void check_degrees(double degrees) {
  if (!std::isfinite(degrees)) {
    throw Error(text("a picture cannot be rotated by ", degrees, " degrees"));
  }
}

torch::Tensor crop(const torch::Tensor& image,
                   std::int64_t top,
                   std::int64_t left,
                   std::int64_t height,
                   std::int64_t width) {
  return image.narrow(1, top, height).narrow(2, left, width);
}

/// With black pixels at the sides.
torch::Tensor padded(const torch::Tensor& image,
                     std::int64_t top,
                     std::int64_t bottom,
                     std::int64_t left,
                     std::int64_t right) {
  const torch::Tensor pixels = pixels_of(image);
  torch::Tensor result =
      torch::zeros({pixels.size(0) + top + bottom, pixels.size(1) + left + right, 3}, torch::kByte);
  result.narrow(0, top, pixels.size(0)).narrow(1, left, pixels.size(1)).copy_(pixels);
  return result.permute({2, 0, 1});
}

/// As Python's round(): halves go to the even neighbour.
std::int64_t round_to_even(double value) {
  return static_cast<std::int64_t>(std::nearbyint(value));
}

/// Where the pixel of a new picture was in the old one, both seen from the middle.
struct Origin {
  double x_of_x, x_of_y, y_of_x, y_of_y;
};

/// At the same size; each pixel is its nearest old one, or black. As Pillow does, with places of 16
/// binary digits after the point.
torch::Tensor moved(const torch::Tensor& image, const Origin& origin) {
  const torch::Tensor pixels = pixels_of(image);
  const std::int64_t height = pixels.size(0);
  const std::int64_t width = pixels.size(1);
  check_side("height", height);
  check_side("width", width);
  const auto fixed = [](double value) {
    return static_cast<std::int64_t>(std::floor(value * 65536 + 0.5));
  };
  const auto [x_of_x, x_of_y, y_of_x, y_of_y] = origin;
  const double center_x = static_cast<double>(width) / 2;
  const double center_y = static_cast<double>(height) / 2;
  const double from_x = center_x - x_of_x * center_x - x_of_y * center_y;
  const double from_y = center_y - y_of_x * center_x - y_of_y * center_y;
  std::int64_t row_x = fixed(from_x + x_of_x * 0.5 + x_of_y * 0.5);
  std::int64_t row_y = fixed(from_y + y_of_x * 0.5 + y_of_y * 0.5);
  torch::Tensor result = torch::zeros({height, width, 3}, torch::kByte);
  auto* out = result.data_ptr<std::uint8_t>();
  for (std::int64_t y = 0; y < height; ++y, row_x += fixed(x_of_y), row_y += fixed(y_of_y)) {
    for (std::int64_t x = 0; x < width; ++x, out += 3) {
      const std::int64_t old_x = (row_x + x * fixed(x_of_x)) >> 16;
      const std::int64_t old_y = (row_y + x * fixed(y_of_x)) >> 16;
      if (old_x < 0 || old_x >= width || old_y < 0 || old_y >= height) continue;
      const auto* in = pixels.data_ptr<std::uint8_t>() + old_y * pixels.stride(0) + old_x * 3;
      std::copy_n(in, 3, out);
    }
  }
  return result.permute({2, 0, 1});
}

double draw_between(double low, double high, torch::Generator& draws) {
  return torch::empty({1}).uniform_(low, high, draws).item<float>();
}

/// 0 to `last`.
std::int64_t draw_place(std::int64_t last, torch::Generator& draws) {
  return torch::randint(0, last + 1, {1}, draws, torch::kLong).item<std::int64_t>();
}

}  // namespace

Transform in_turn(std::vector<Transform> steps) {
  return [steps = std::move(steps)](const torch::Tensor& image, torch::Generator& draws) {
    torch::Tensor result = image;
    for (const Transform& step : steps) result = step(result, draws);
    return result;
  };
}

torch::Tensor resize(const torch::Tensor& image, std::int64_t height, std::int64_t width) {
  check_side("height", height);
  check_side("width", width);
  return resample(pixels_of(image), height, width).permute({2, 0, 1});
}

torch::Tensor resize(const torch::Tensor& image, std::int64_t side) {
  const torch::Tensor pixels = pixels_of(image);
  const std::int64_t height = pixels.size(0);
  const std::int64_t width = pixels.size(1);
  check_side("shorter side", side);
  if (height < width) return resize(image, side, side * width / height);
  return resize(image, side * height / width, side);
}

torch::Tensor pad(const torch::Tensor& image, std::int64_t padding) {
  if (padding < 0 || padding > side_max) {
    throw Error(text("a picture cannot be padded by ", padding, " pixels"));
  }
  return padded(image, padding, padding, padding, padding);
}

torch::Tensor center_crop(const torch::Tensor& image, std::int64_t side) {
  check_side("side", side);
  torch::Tensor large = image;
  const std::int64_t below = std::max<std::int64_t>(side - pixels_of(image).size(0), 0);
  const std::int64_t beside = std::max<std::int64_t>(side - image.size(2), 0);
  if (below > 0 || beside > 0) {
    large = padded(image, below / 2, (below + 1) / 2, beside / 2, (beside + 1) / 2);
  }
  const auto middle = [&](std::int64_t size) {
    return round_to_even(static_cast<double>(size - side) / 2);
  };
  return crop(large, middle(large.size(1)), middle(large.size(2)), side, side);
}

torch::Tensor random_crop(const torch::Tensor& image,
                          std::int64_t side,
                          std::int64_t padding,
                          torch::Generator& draws) {
  check_side("side", side);
  const torch::Tensor large = padding == 0 ? image : pad(image, padding);
  const std::int64_t height = pixels_of(large).size(0);
  const std::int64_t width = large.size(2);
  if (height < side || width < side) {
    throw Error(text("a picture of ",
                     width,
                     "x",
                     height,
                     " pixels cannot be cropped to ",
                     side,
                     "x",
                     side,
                     "; resize or pad it"));
  }
  if (height == side && width == side) return large;  // torchvision draws nothing either
  const std::int64_t top = draw_place(height - side, draws);
  const std::int64_t left = draw_place(width - side, draws);
  return crop(large, top, left, side, side);
}

torch::Tensor random_resized_crop(const torch::Tensor& image,
                                  std::int64_t side,
                                  torch::Generator& draws,
                                  const RandomResizedCropOptions& options) {
  constexpr int tries_max = 10;
  check_range("scale", options.scale);
  check_range("ratio", options.ratio);
  const auto [least, most] = options.ratio;
  const std::int64_t height = pixels_of(image).size(0);
  const std::int64_t width = image.size(2);
  const torch::Tensor log_ratio =
      torch::log(torch::tensor({static_cast<float>(least), static_cast<float>(most)}));
  for (int i = 0; i < tries_max; ++i) {
    const double area = static_cast<double>(height * width) *
                        draw_between(options.scale[0], options.scale[1], draws);
    const double log_drawn =
        draw_between(log_ratio[0].item<float>(), log_ratio[1].item<float>(), draws);
    const double ratio = torch::exp(torch::tensor({static_cast<float>(log_drawn)})).item<float>();
    const std::int64_t part_width = round_to_even(std::sqrt(area * ratio));
    const std::int64_t part_height = round_to_even(std::sqrt(area / ratio));
    if (part_width < 1 || part_width > width || part_height < 1 || part_height > height) continue;
    const std::int64_t top = draw_place(height - part_height, draws);
    const std::int64_t left = draw_place(width - part_width, draws);
    return resize(crop(image, top, left, part_height, part_width), side, side);
  }
  // The largest part in the middle with an allowed ratio.
  const double ratio =
      std::clamp(static_cast<double>(width) / static_cast<double>(height), least, most);
  const std::int64_t part_width =
      std::min(width, round_to_even(static_cast<double>(height) * ratio));
  const std::int64_t part_height =
      std::min(height, round_to_even(static_cast<double>(width) / ratio));
  const torch::Tensor part =
      crop(image, (height - part_height) / 2, (width - part_width) / 2, part_height, part_width);
  return resize(part, side, side);
}

torch::Tensor random_horizontal_flip(const torch::Tensor& image,
                                     torch::Generator& draws,
                                     double probability) {
  const torch::Tensor pixels = pixels_of(image);
  if (draw_between(0, 1, draws) >= probability) return image;
  return pixels.flip(1).permute({2, 0, 1});
}

torch::Tensor rotate(const torch::Tensor& image, double degrees) {
  check_degrees(degrees);
  // As Pillow's Image.rotate() does: a matrix of 15 decimal places.
  const double angle = std::fmod(degrees, 360.0) * (pi / 180);
  const double cosine = std::nearbyint(std::cos(angle) * 1e15) / 1e15;
  const double sine = std::nearbyint(-std::sin(angle) * 1e15) / 1e15;
  return moved(image, {cosine, sine, -sine, cosine});
}

torch::Tensor random_rotation(const torch::Tensor& image,
                              double degrees_max,
                              torch::Generator& draws) {
  check_degrees(degrees_max);
  const double most = std::abs(degrees_max);
  return rotate(image, draw_between(-most, most, draws));
}

torch::Tensor random_affine(const torch::Tensor& image,
                            const RandomAffineOptions& options,
                            torch::Generator& draws) {
  check_range("scale", options.scale);
  if (!(options.shear_max > 0 && options.shear_max < 90)) {
    throw Error(text("a picture cannot be sheared by ",
                     options.shear_max,
                     " degrees; give a number above 0 and below 90"));
  }
  draw_between(0, 0, draws);  // torchvision's rotation by 0 degrees
  const double scale = draw_between(options.scale[0], options.scale[1], draws);
  const double shear = draw_between(-options.shear_max, options.shear_max, draws);
  return moved(image, {1 / scale, std::tan(shear * (pi / 180)) / scale, 0, 1 / scale});
}

torch::Tensor normalize(const torch::Tensor& image,
                        const OfChannels& mean,
                        const OfChannels& deviation) {
  const torch::Tensor pixels = pixels_of(image);
  const std::int64_t height = pixels.size(0);
  const std::int64_t width = pixels.size(1);
  torch::Tensor result = torch::empty({3, height, width}, torch::kFloat);
  auto* out = result.data_ptr<float>();
  for (std::size_t channel = 0; channel < 3; ++channel) {
    std::array<float, 256> results{};
    for (std::size_t value = 0; value < results.size(); ++value) {
      results[value] = (static_cast<float>(value) / 255 - mean[channel]) / deviation[channel];
    }
    for (std::int64_t y = 0; y < height; ++y) {
      const std::uint8_t* in = pixels.data_ptr<std::uint8_t>() + y * pixels.stride(0) + channel;
      for (std::int64_t x = 0; x < width; ++x, in += 3) *out++ = results[*in];
    }
  }
  return result;
}

}  // namespace ddprun::worker
