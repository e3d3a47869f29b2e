#include "ddprun/metrics.hpp"

#include "ddprun/error.hpp"
#include "worker/parallel/broadcast.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

/// Rank 0's names, each followed by a zero byte, on all ranks.
std::string names_of_rank_0(std::string names, const ProcessGroup& group) {
  const torch::Tensor size = torch::tensor({static_cast<std::int64_t>(names.size())}, torch::kLong);
  broadcast_from_rank_0({size}, group);
  torch::Tensor bytes = torch::zeros({size.item<std::int64_t>()}, torch::kByte);
  if (group.rank() == 0) std::memcpy(bytes.data_ptr(), names.data(), names.size());
  if (bytes.numel() > 0) broadcast_from_rank_0({bytes}, group);
  return {static_cast<const char*>(bytes.data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

[[noreturn]] void throw_of_others(const std::map<std::string, Mean>& means,
                                  const std::map<std::string, double>& values,
                                  int rank) {
  for (const auto& [name, mean] : means) {
    if (values.count(name) > 0) continue;
    throw Error(text("rank ",
                     rank,
                     " has added to the metric \"",
                     name,
                     "\" and rank 0 has not; add to the same ones on all ranks"));
  }
  throw Error("a rank has added to a metric that rank 0 has not; it says which one");
}

}  // namespace

void Metrics::add(const std::string& name, const torch::Tensor& sum, std::int64_t count) {
  means_[name].add(sum, static_cast<double>(count));
}

std::map<std::string, double> Metrics::over(const ProcessGroup& group) {
  std::map<std::string, Mean> means = std::exchange(means_, {});
  std::string own_names;
  for (const auto& [name, mean] : means) own_names += name + '\0';
  const std::string names = names_of_rank_0(own_names, group);

  std::map<std::string, double> values;  // of rank 0's names, in whose order the sums follow
  for (std::size_t i = 0; i < names.size(); i += std::strlen(&names[i]) + 1) values[&names[i]];
  std::vector<torch::Tensor> sums;
  for (const auto& [name, value] : values) sums.push_back(means[name].take());
  const bool has_others = means.size() > values.size();
  sums.push_back(torch::tensor({has_others ? 1.0 : 0.0, 0.0}, torch::kDouble));
  const torch::Tensor sums_of_all = torch::stack(sums);
  group.all_reduce_sum(sums_of_all);

  const auto* next = sums_of_all.data_ptr<double>();
  for (auto& [name, value] : values) {
    value = next[0] / next[1];
    next += 2;
  }
  if (next[0] > 0) throw_of_others(means, values, group.rank());
  return values;
}

}  // namespace ddprun::worker
