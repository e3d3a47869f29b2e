// Pictures as PNG files (RFC 2083), by zlib.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ddprun::worker {

struct PictureShape {
  std::uint32_t height;
  std::uint32_t width;
  std::uint32_t channels;  ///< 1: grey, 3: red, green, blue, 4: these and alpha.
};

/// The bytes of a PNG file. `pixels` has height * width * channels bytes, row by row from the top,
/// the channels of a pixel side by side. Height and width are from 1 to 2^31 - 1.
[[nodiscard]] std::string png(const PictureShape& shape, std::string_view pixels);

}  // namespace ddprun::worker
