// Reads the binary files of CIFAR-10 and CIFAR-100, as their authors describe them at
// https://www.cs.toronto.edu/~kriz/cifar.html.
#pragma once

#include <torch/torch.h>

#include <filesystem>

namespace ddprun::worker {

/// The records of one file, in its order, on the CPU.
struct Cifar {
  torch::Tensor images;         ///< (N, 3, 32, 32) uint8: red, green and blue.
  torch::Tensor labels;         ///< (N,) int64: 0 to 9, or the fine labels of CIFAR-100, 0 to 99.
  torch::Tensor coarse_labels;  ///< (N,) int64, 0 to 19; undefined for CIFAR-10.
};

/// The content of data_batch_1.bin to data_batch_5.bin or test_batch.bin. Throws Error naming the
/// path when it cannot be read, is larger than 4 GiB, is not a whole number of records (at least
/// one), or has a label that is out of range.
[[nodiscard]] Cifar read_cifar10(const std::filesystem::path& path);

struct CifarParts {
  Cifar training;
  Cifar test;
};

/// The folder of CIFAR-10: data_batch_1.bin to data_batch_5.bin, one after the other, and
/// test_batch.bin. Throws Error like read_cifar10().
[[nodiscard]] CifarParts read_cifar10_folder(const std::filesystem::path& folder);

/// The content of train.bin or test.bin. Throws Error like read_cifar10().
[[nodiscard]] Cifar read_cifar100(const std::filesystem::path& path);

}  // namespace ddprun::worker
