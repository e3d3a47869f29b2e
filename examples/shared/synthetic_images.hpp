// Pictures that are made up, so that a job runs where there are no data.
#pragma once

#include "ddprun/data_set.hpp"

#include <torch/torch.h>

#include <cstdint>

namespace ddprun::examples {

/// A DataSet of (3, side, side) uint8 pictures, in which each class has a pattern of its own under
/// noise, so that a network can learn them. Picture i is a function of `seed`, i and the sizes.
class SyntheticImages {
 public:
  struct Sizes {
    std::int64_t images_count;
    std::int64_t classes_count;
    std::int64_t side;  ///< Pixels.
  };
  SyntheticImages(const Sizes& sizes, std::uint64_t seed);

  [[nodiscard]] std::int64_t size() const { return sizes_.images_count; }
  [[nodiscard]] worker::Sample get(std::int64_t index, torch::Generator& draws) const;

 private:
  Sizes sizes_;
  std::uint64_t seed_;
  torch::Tensor patterns_;  // (classes_count, 3, 4, 4) float32
};

}  // namespace ddprun::examples
