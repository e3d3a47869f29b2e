// Pictures of JPEG and PNG files as tensors, with the values that Pillow's
// Image.open(path).convert("RGB") has.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace ddprun::worker {

/// Of a decoded picture: from where Pillow refuses one, as a file that was made to fill the memory.
constexpr std::int64_t image_pixels_max = 178'956'970;

struct DecodeOptions {
  /// A JPEG may be decoded at 1/2, 1/4 or 1/8 of its size, in a fraction of the time, as long as
  /// both sides have this many pixels, as with Pillow's draft(). 0: always at its full size.
  int side_min = 0;
};

/// The picture in the bytes of a JPEG or PNG file: (3, H, W) uint8 on the CPU, red, green and blue.
/// Its memory has the three values of each pixel beside each other, as strides say. Grey is
/// repeated, alpha is left out, the rotation in EXIF is ignored. For any thread.
///
/// Throws Error with `name` if the bytes are cut off or damaged, are another format, have 16 bits
/// of grey (whose range files do not agree on), or more than image_pixels_max pixels; and if the
/// library for the format was not there when ddprun_worker was built.
[[nodiscard]] torch::Tensor decode_image(std::string_view bytes,
                                         const std::string& name,
                                         const DecodeOptions& options = {});

}  // namespace ddprun::worker
