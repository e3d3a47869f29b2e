#include "worker/parallel/gradient_buckets.hpp"

#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace ddprun::worker {

std::vector<std::int64_t> among_trained(const std::vector<std::int64_t>& order,
                                        const std::vector<bool>& is_trained) {
  constexpr std::int64_t none = -1;
  std::vector<std::int64_t> index_of;  // of each parameter that is still to come
  std::int64_t count = 0;
  for (const bool each : is_trained) index_of.push_back(each ? count++ : none);
  std::vector<std::int64_t> indices;
  for (const std::int64_t parameter : order) {
    if (parameter < 0 || parameter >= std::ssize(index_of)) return {};
    const auto index = std::exchange(index_of[static_cast<std::size_t>(parameter)], none);
    if (index == none) return {};
    indices.push_back(index);
  }
  if (std::ssize(indices) != count) return {};
  return indices;
}

compat::Buckets gradient_buckets(const std::vector<torch::Tensor>& trained,
                                 const std::vector<bool>& is_sparse,
                                 std::int64_t bucket_bytes,
                                 std::int64_t first_bucket_bytes,
                                 const std::vector<std::int64_t>& order) {
  const std::vector<std::size_t> bytes{static_cast<std::size_t>(first_bucket_bytes),
                                       static_cast<std::size_t>(bucket_bytes)};
  if (!order.empty()) {
    std::vector<torch::Tensor> ordered;
    for (const std::int64_t i : order) ordered.push_back(trained[static_cast<std::size_t>(i)]);
    auto [indices, limits] =
        c10d::compute_bucket_assignment_by_size(ordered, bytes, is_sparse, order);
    return {std::move(indices), std::move(limits)};
  }
  auto [indices, limits] = c10d::compute_bucket_assignment_by_size(trained, bytes, is_sparse);
  // Gradients become ready roughly in the reverse of the order in which parameters are declared.
  std::reverse(indices.begin(), indices.end());
  std::reverse(limits.begin(), limits.end());
  return {std::move(indices), std::move(limits)};
}

}  // namespace ddprun::worker
