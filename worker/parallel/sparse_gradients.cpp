#include "worker/parallel/sparse_gradients.hpp"

namespace ddprun::worker {

std::unordered_set<const void*> sparse_in(const torch::nn::Module& module) {
  std::unordered_set<const void*> found;
  const auto find = [&](const auto* table) {
    if (table == nullptr || !table->options.sparse()) return;
    found.insert(table->weight.unsafeGetTensorImpl());
  };
  for (const auto& named : module.named_modules()) {
    find(named.value()->as<torch::nn::EmbeddingImpl>());
    find(named.value()->as<torch::nn::EmbeddingBagImpl>());
  }
  return found;
}

torch::Tensor no_rows_of(const torch::Tensor& weight) {
  return torch::sparse_coo_tensor(torch::empty({1, 0}, torch::kLong),
                                  torch::empty({0, weight.size(1)}, weight.options()),
                                  weight.sizes());
}

}  // namespace ddprun::worker
