// What a data set is: samples with numbers, each of which can be read by itself.
#pragma once

#include <torch/torch.h>

#include <concepts>
#include <cstdint>

namespace ddprun::worker {

struct Sample {
  torch::Tensor input;   ///< Of one shape and type in all samples of a batch.
  torch::Tensor target;  ///< The same; without dimensions for a label.
};

/// Samples in a row.
struct Batch {
  torch::Tensor inputs;   ///< (B, ...)
  torch::Tensor targets;  ///< (B, ...)
};

/// `size()` samples, with the numbers 0 to size() - 1. `get(index, draws)` reads one into new
/// tensors on the CPU, for several threads at once. All that it draws comes from `draws`.
template <typename Type>
concept DataSet = requires(const Type& data, std::int64_t index, torch::Generator& draws) {
  { data.size() } -> std::convertible_to<std::int64_t>;
  { data.get(index, draws) } -> std::convertible_to<Sample>;
};

}  // namespace ddprun::worker
