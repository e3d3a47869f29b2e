// JPEG files by libjpeg-turbo, through libjpeg's interface: TurboJPEG's refuses some ways to sample
// colours, and does not tell a file that is cut off from one with harmless extra bytes.
#pragma once

#include "ddprun/image.hpp"

#include <torch/torch.h>

#include <string>
#include <string_view>

namespace ddprun::worker {

[[nodiscard]] bool is_jpeg(std::string_view bytes);

/// decode_image() for a JPEG: (H, W, 3).
[[nodiscard]] torch::Tensor decode_jpeg(std::string_view bytes,
                                        const std::string& name,
                                        const DecodeOptions& options);

}  // namespace ddprun::worker
