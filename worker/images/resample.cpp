#include "worker/images/resample.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace ddprun::worker {
namespace {

constexpr std::int64_t rgb = 3;
/// Weights are integers of this many binary places, as in src/libImaging/Resample.c of Pillow: 32
/// bits less 8 of the pixel and 2 for sums beyond its range.
constexpr int weight_bits = 22;

/// Along one side: the old pixels of each new one, and their weights.
struct Weights {
  struct Range {
    std::int64_t begin;
    std::int64_t count;
  };

  Weights(std::int64_t old_size, std::int64_t new_size);
  [[nodiscard]] const std::int32_t* of(std::int64_t i) const { return values.data() + i * stride; }

  std::vector<Range> ranges;
  std::int64_t stride;  // of the values of one new pixel to those of the next
  std::vector<std::int32_t> values;
};

Weights::Weights(std::int64_t old_size, std::int64_t new_size) {
  const double scale = static_cast<double>(old_size) / static_cast<double>(new_size);
  const double reach = std::max(scale, 1.0);  // half the width of the triangle
  stride = static_cast<std::int64_t>(std::ceil(reach)) * 2 + 1;
  values.resize(static_cast<std::size_t>(stride * new_size));
  std::vector<double> exact_values(static_cast<std::size_t>(stride));
  double* const exact = exact_values.data();
  std::int32_t* value = values.data();
  for (std::int64_t i = 0; i < new_size; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto begin = std::max<std::int64_t>(static_cast<std::int64_t>(center - reach + 0.5), 0);
    const auto end = std::min(static_cast<std::int64_t>(center + reach + 0.5), old_size);
    double sum = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      const double distance = (static_cast<double>(k) - center + 0.5) * (1.0 / reach);
      exact[k - begin] = std::max(1 - std::abs(distance), 0.0);
      sum += exact[k - begin];
    }
    for (std::int64_t k = 0; k < end - begin; ++k) {
      value[k] = static_cast<std::int32_t>(0.5 + exact[k] / sum * (1 << weight_bits));
    }
    value += stride;
    ranges.push_back({.begin = begin, .count = end - begin});
  }
}

constexpr std::int32_t rounding = 1 << (weight_bits - 1);

/// No weight is negative, so a sum is at most a rounding error above 255.
std::uint8_t rounded(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::min(sum >> weight_bits, 255));
}

torch::Tensor resample_rows(const torch::Tensor& pixels, std::int64_t width) {
  const Weights weights(pixels.size(1), width);
  torch::Tensor result = torch::empty({pixels.size(0), width, rgb}, torch::kByte);
  auto* out = result.data_ptr<std::uint8_t>();
  for (std::int64_t y = 0; y < pixels.size(0); ++y) {
    const std::uint8_t* const row = pixels.data_ptr<std::uint8_t>() + y * pixels.stride(0);
    for (std::int64_t x = 0; x < width; ++x, out += rgb) {
      const Weights::Range range = weights.ranges[static_cast<std::size_t>(x)];
      const std::int32_t* const weight = weights.of(x);
      const std::uint8_t* in = row + rgb * range.begin;
      std::int32_t red = rounding;
      std::int32_t green = rounding;
      std::int32_t blue = rounding;
      for (std::int64_t k = 0; k < range.count; ++k, in += rgb) {
        red += in[0] * weight[k];
        green += in[1] * weight[k];
        blue += in[2] * weight[k];
      }
      out[0] = rounded(red);
      out[1] = rounded(green);
      out[2] = rounded(blue);
    }
  }
  return result;
}

torch::Tensor resample_columns(const torch::Tensor& pixels, std::int64_t height) {
  const Weights weights(pixels.size(0), height);
  const std::int64_t row_values = pixels.size(1) * rgb;
  torch::Tensor result = torch::empty({height, pixels.size(1), rgb}, torch::kByte);
  auto* out = result.data_ptr<std::uint8_t>();
  std::vector<std::int32_t> row(static_cast<std::size_t>(row_values));
  std::int32_t* const sums = row.data();
  for (std::int64_t y = 0; y < height; ++y, out += row_values) {
    const Weights::Range range = weights.ranges[static_cast<std::size_t>(y)];
    std::fill(row.begin(), row.end(), rounding);
    const std::uint8_t* in = pixels.data_ptr<std::uint8_t>() + range.begin * pixels.stride(0);
    for (std::int64_t k = 0; k < range.count; ++k, in += pixels.stride(0)) {
      const std::int32_t weight = weights.of(y)[k];
      for (std::int64_t i = 0; i < row_values; ++i) sums[i] += in[i] * weight;
    }
    for (std::int64_t i = 0; i < row_values; ++i) out[i] = rounded(sums[i]);
  }
  return result;
}

}  // namespace

torch::Tensor resample(const torch::Tensor& pixels, std::int64_t height, std::int64_t width) {
  const std::int64_t rows_less = pixels.size(0) - height;
  const std::int64_t columns_less = pixels.size(1) - width;
  // The order in which Image.resize() of Pillow 13 does it, found by comparing results: it matters
  // by one level, since values are rounded between the two.
  const bool rows_first = rows_less > 0 && rows_less > 2 * columns_less;
  torch::Tensor result = pixels;
  if (rows_first) result = resample_columns(result, height);
  if (columns_less != 0) result = resample_rows(result, width);
  if (!rows_first && rows_less != 0) result = resample_columns(result, height);
  return result;
}

}  // namespace ddprun::worker
