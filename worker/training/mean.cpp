#include "ddprun/mean.hpp"

#include <utility>

namespace ddprun::worker {
namespace {

double ratio(const torch::Tensor& sum_and_count) {
  return sum_and_count[0].item<double>() / sum_and_count[1].item<double>();
}

}  // namespace

void Mean::add(const torch::Tensor& sum, double count) {
  if (!sum_.defined()) sum_ = torch::zeros({1}, sum.options().dtype(torch::kDouble));
  sum_.add_(sum.detach().reshape({1}));
  count_ += count;
}

double Mean::over(const ProcessGroup& group) {
  const torch::Tensor sum_and_count = take();
  group.all_reduce_sum(sum_and_count);
  return ratio(sum_and_count);
}

double Mean::over_this_rank() {
  return ratio(take());
}

torch::Tensor Mean::take() {
  const double sum = sum_.defined() ? sum_.item<double>() : 0;
  sum_ = torch::Tensor();
  return torch::tensor({sum, std::exchange(count_, 0)}, torch::kDouble);
}

}  // namespace ddprun::worker
