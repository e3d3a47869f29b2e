// A made-up data set in the files of Fashion-MNIST, so small that training on it takes no time.
#pragma once

#include "tests/worker/support.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace ddprun::worker::test {

constexpr int train_count = 96;
constexpr int test_count = 16;

/// An IDX file of these dimensions, whose byte number i is i modulo `modulus`.
inline void write_idx(const std::filesystem::path& path,
                      const std::vector<int>& shape,
                      int modulus) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(shape.size())};
  int count = 1;
  for (const int size : shape) {
    bytes += {'\0', '\0', static_cast<char>(size / 256), static_cast<char>(size % 256)};
    count *= size;
  }
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(i % modulus);
  write_bytes(path, bytes);
}

inline void write_data(const TemporaryFolder& folder) {
  write_idx(folder / "train-images-idx3-ubyte.gz", {train_count, 28, 28}, 251);
  write_idx(folder / "train-labels-idx1-ubyte.gz", {train_count}, 10);
  write_idx(folder / "t10k-images-idx3-ubyte.gz", {test_count, 28, 28}, 251);
  write_idx(folder / "t10k-labels-idx1-ubyte.gz", {test_count}, 10);
}

}  // namespace ddprun::worker::test
