// Gradients that have only the rows of a table that a batch has used.
#pragma once

#include <torch/torch.h>

#include <unordered_set>

namespace ddprun::worker {

/// The TensorImpl of the weight of each Embedding and EmbeddingBag in `module` that has the option
/// sparse.
[[nodiscard]] std::unordered_set<const void*> sparse_in(const torch::nn::Module& module);

/// A gradient of such a weight, (rows, columns), when no row was used.
[[nodiscard]] torch::Tensor no_rows_of(const torch::Tensor& weight);

}  // namespace ddprun::worker
