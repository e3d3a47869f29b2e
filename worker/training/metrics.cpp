#include "ddprun/metrics.hpp"

#include "ddprun/collectives.hpp"

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace ddprun::worker {
void Metrics::add(const std::string& name, const torch::Tensor& sum, std::int64_t count) {
  means_[name].add(sum, static_cast<double>(count));
}

std::map<std::string, double> Metrics::over(const ProcessGroup& group) {
  std::map<std::string, Mean> means = std::exchange(means_, {});
  std::string own_names;  // each with a zero byte behind it
  for (const auto& [name, mean] : means) own_names += name + '\0';
  std::map<std::string, double> values;  // the names of all ranks, in whose order the sums follow
  for (const std::string& names : gather_texts(own_names, group)) {
    for (std::size_t i = 0; i < names.size(); i += std::strlen(&names[i]) + 1) values[&names[i]];
  }
  if (values.empty()) return values;

  std::vector<torch::Tensor> sums;
  for (const auto& [name, value] : values) sums.push_back(means[name].take());
  const torch::Tensor sums_of_all = torch::stack(sums);
  group.all_reduce_sum(sums_of_all);
  const auto* next = sums_of_all.data_ptr<double>();
  for (auto& [name, value] : values) {
    value = next[0] / next[1];
    next += 2;
  }
  return values;
}

}  // namespace ddprun::worker
