// Reads IDX files, the format of MNIST and its successors: a big-endian header and bytes. Plain or
// compressed with gzip.
#pragma once

#include <torch/torch.h>

#include <filesystem>

namespace ddprun::worker {

/// The content of the file at `path`: uint8, in the shape its header gives (images: N×28×28,
/// labels: N). Throws Error naming the path when it cannot be read, is no IDX file of bytes, is
/// larger than 4 GiB, or has fewer or more bytes than its header says.
[[nodiscard]] torch::Tensor read_idx(const std::filesystem::path& path);

}  // namespace ddprun::worker
