// Which gradients travel together, and in which order: with three or more ranks the last bits of
// their sums depend on it.
#pragma once

#include "worker/torch_compat.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace ddprun::worker {

/// `order`, of indices into all parameters, as indices into those of them that are trained; empty
/// unless it has each of these once and no others.
[[nodiscard]] std::vector<std::int64_t> among_trained(const std::vector<std::int64_t>& order,
                                                      const std::vector<bool>& is_trained);

/// The buckets of the gradients of `trained`. In `order`, of all indices into `trained`, they are
/// those that c10d::Reducer makes after its first backward pass; if it is empty, those that
/// Python's DistributedDataParallel begins with. A gradient that is sparse travels alone.
[[nodiscard]] compat::Buckets gradient_buckets(const std::vector<torch::Tensor>& trained,
                                               const std::vector<bool>& is_sparse,
                                               std::int64_t bucket_bytes,
                                               std::int64_t first_bucket_bytes,
                                               const std::vector<std::int64_t>& order);

}  // namespace ddprun::worker
