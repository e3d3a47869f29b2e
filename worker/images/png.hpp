// PNG files by libpng.
#pragma once

#include <torch/torch.h>

#include <string>
#include <string_view>

namespace ddprun::worker {

[[nodiscard]] bool is_png(std::string_view bytes);

/// decode_image() for a PNG: (H, W, 3).
[[nodiscard]] torch::Tensor decode_png(std::string_view bytes, const std::string& name);

}  // namespace ddprun::worker
