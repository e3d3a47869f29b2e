#include "worker/parallel/replica_check.hpp"

#include "ddprun/error.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

namespace ddprun::worker {
namespace {

constexpr double difference_max = 1e-3;
constexpr double noise_max = 1e-5;  // below it a difference may grow
constexpr double growth_max = 2;

/// Of the same size, so that no bit is left out.
torch::ScalarType integer_of(const torch::Tensor& tensor) {
  switch (tensor.element_size()) {
    case 1:
      return torch::kByte;
    case 2:
      return torch::kShort;
    case 4:
      return torch::kInt;
    default:
      return torch::kLong;
  }
}

torch::Tensor numbers_of(const torch::Tensor& tensor) {
  return tensor.is_complex() ? torch::view_as_real(tensor.resolve_conj()) : tensor;
}

torch::Tensor sum_of_bits(const torch::Tensor& parameter) {
  const torch::Tensor values = numbers_of(parameter.detach());
  return values.view(integer_of(values)).sum(torch::kLong);
}

torch::Tensor maximum(torch::Tensor tensor, const ProcessGroup& group) {
  std::vector<at::Tensor> tensors{std::move(tensor)};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  group.native()->allreduce(tensors, options)->wait();
  return tensors[0];
}

/// For each parameter whether its bits differ between ranks.
torch::Tensor differing(const std::vector<torch::Tensor>& parameters, const ProcessGroup& group) {
  std::vector<torch::Tensor> sums;
  sums.reserve(parameters.size());
  for (const auto& parameter : parameters) {
    sums.push_back(sum_of_bits(parameter).to(parameters.front().device()));
  }
  const torch::Tensor own = torch::stack(sums).cpu();  // waits for a GPU once
  // The complement turns the order round, so that its maximum is that of the least.
  const torch::Tensor both = maximum(torch::stack({own, own.bitwise_not()}), group);
  return both[0].ne(both[1].bitwise_not());
}

/// Relative to the greatest absolute value on any rank; NaN if one is not finite.
double difference_of(const torch::Tensor& parameter, const ProcessGroup& group) {
  const torch::Tensor own =
      numbers_of(parameter.detach()).to(torch::kCPU, torch::kDouble).contiguous();
  const torch::Tensor both = maximum(torch::stack({own, -own}), group);
  const double difference = (both[0] + both[1]).max().item<double>();
  return difference == 0 ? 0 : difference / both.max().item<double>();
}

}  // namespace

bool is_apart(double difference, double before) {
  if (!(difference <= difference_max)) return true;  // or NaN
  return difference > noise_max && before > 0 && difference > growth_max * before;
}

ReplicaCheck::ReplicaCheck(std::vector<torch::Tensor> parameters, std::vector<std::string> names)
    : parameters_(std::move(parameters)),
      names_(std::move(names)),
      differences_(parameters_.size(), 0) {}

void ReplicaCheck::check(const ProcessGroup& group, std::int64_t steps_count) {
  if (parameters_.empty()) return;
  const torch::NoGradGuard no_grad;
  const torch::Tensor differs = differing(parameters_, group);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const double before = std::exchange(differences_[i], 0);
    if (!differs[static_cast<std::int64_t>(i)].item<bool>()) continue;
    const double now = difference_of(parameters_[i], group);
    differences_[i] = now;
    const std::string what = text("parameter ",
                                  names_[i],
                                  " differs between ranks by ",
                                  now,
                                  " of its greatest value after ",
                                  steps_count,
                                  " synchronised forward passes");
    if (is_apart(now, before)) {
      throw Error(what +
                  ": step the optimizer on every rank, with the same settings, and change "
                  "parameters on all ranks alike; parameters of which each rank has its own belong "
                  "into DistributedDataParallelOptions::verify_ignored");
    }
    if (now > 0 && !std::exchange(has_warned_, true) && group.rank() == 0) {
      std::cerr << what + ", as between processors that round differently\n";
    }
  }
}

}  // namespace ddprun::worker
