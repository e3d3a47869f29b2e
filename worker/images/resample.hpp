// Changes the size of a picture as Pillow does, bit by bit: Image.resize() with BILINEAR, whose
// triangle is as wide as what a new pixel covers, so that smaller pictures have no artefacts.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace ddprun::worker {

/// (height, width, 3) of `pixels`, which is (H, W, 3) uint8 with dense rows. Both have at least one
/// pixel.
[[nodiscard]] torch::Tensor resample(const torch::Tensor& pixels,
                                     std::int64_t height,
                                     std::int64_t width);

}  // namespace ddprun::worker
