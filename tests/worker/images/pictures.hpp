// What tests of pictures share: one picture by a formula, and checks of its values.
#pragma once

#include "tests/worker/images/vectors.hpp"

#include <torch/torch.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace ddprun::worker::test {

/// (3, height, width), the picture() of vectors.py.
inline torch::Tensor formula_picture(std::int64_t width, std::int64_t height) {
  torch::Tensor pixels = torch::empty({height, width, 3}, torch::kByte);
  auto* value = pixels.data_ptr<std::uint8_t>();
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < 3; ++c) {
        *value++ = static_cast<std::uint8_t>((7 * x * x + 13 * y * y + 29 * c + x * y) % 256);
      }
    }
  }
  return pixels.permute({2, 0, 1});
}

/// CRC-32 of the bytes of a tensor in its own order.
inline std::uint32_t crc_of_bytes(const torch::Tensor& tensor) {
  const torch::Tensor dense = tensor.contiguous();
  return static_cast<std::uint32_t>(
      ::crc32(0, static_cast<const Bytef*>(dense.data_ptr()), static_cast<uInt>(dense.nbytes())));
}

/// CRC-32 of a picture (3, H, W), in the order (H, W, 3) that Pillow has.
inline std::uint32_t crc_of_picture(const torch::Tensor& image) {
  return crc_of_bytes(image.permute({1, 2, 0}));
}

inline std::string from_base64(std::string_view text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int bits_count = 0;
  for (const char digit : text) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(digits.find(digit));
    bits_count += 6;
    if (bits_count < 8) continue;
    bits_count -= 8;
    bytes += static_cast<char>(bits >> bits_count & 0xff);
  }
  return bytes;
}

/// The bytes of one of encoded_pictures.
inline std::string encoded_picture(std::string_view name) {
  for (const EncodedPicture& each : encoded_pictures) {
    if (each.name == name) return from_base64(each.base64);
  }
  return "";
}

}  // namespace ddprun::worker::test
