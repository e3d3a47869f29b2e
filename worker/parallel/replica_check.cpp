#include "worker/parallel/replica_check.hpp"

#include "ddprun/error.hpp"

#include <algorithm>
#include <iostream>
#include <limits>
#include <utility>

namespace ddprun::worker {
namespace {

constexpr double difference_max = 1e-3;
constexpr double noise_max = 1e-5;   // below it a difference may grow
constexpr double roundings_max = 8;  // of a type so coarse that they are more than that
constexpr double growth_max = 2;
constexpr std::int64_t slice_count = 1 << 22;  // sum() makes a copy of 64 bits for each value

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

/// In words of 64 bits, which costs a tenth of adding up words that are made so wide first.
torch::Tensor sum_of_bits(const torch::Tensor& parameter) {
  const torch::Tensor values = numbers_of(parameter.detach()).reshape({-1});
  const std::int64_t per_word = 8 / values.element_size();
  const bool is_aligned = values.storage_offset() % per_word == 0;
  const std::int64_t count = is_aligned ? values.numel() / per_word * per_word : 0;
  torch::Tensor sum = torch::zeros({}, values.options().dtype(torch::kLong));
  if (count > 0) sum += values.narrow(0, 0, count).view(torch::kLong).sum();
  const torch::Tensor rest = values.narrow(0, count, values.numel() - count);
  for (const auto& slice : rest.view(integer_of(rest)).split(slice_count)) {
    sum += slice.sum(torch::kLong);
  }
  return sum;
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

struct Spread {
  double difference = 0;
  double greatest = 0;  // absolute value on any rank
  bool is_finite = true;
};

Spread spread_of(const torch::Tensor& parameter, const ProcessGroup& group) {
  const torch::Tensor own = numbers_of(parameter.detach()).to(torch::kCPU, torch::kDouble);
  const torch::Tensor values = torch::nan_to_num(own.reshape({-1}), 0, 0, 0);
  const torch::Tensor is_infinite = torch::isfinite(own).all().logical_not().to(torch::kDouble);
  const torch::Tensor all = maximum(torch::cat({values, -values, is_infinite.reshape({1})}), group);
  const torch::Tensor highest = all.narrow(0, 0, values.numel());
  const torch::Tensor lowest = -all.narrow(0, values.numel(), values.numel());
  return {(highest - lowest).max().item<double>(),
          all.max().item<double>(),
          all[-1].item<double>() == 0};
}

double epsilon_of(torch::ScalarType type) {
  switch (type) {
    case torch::kHalf:
      return 0x1p-10;
    case torch::kBFloat16:
      return 0x1p-7;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

}  // namespace

bool is_apart(double difference, double before, double epsilon) {
  const double roundings = roundings_max * epsilon;
  if (difference > std::max(difference_max, roundings)) return true;
  return difference > std::max(noise_max, roundings) && before > 0 &&
         difference > growth_max * before;
}

ReplicaCheck::ReplicaCheck(std::vector<torch::Tensor> parameters, std::vector<std::string> names)
    : parameters_(std::move(parameters)),
      names_(std::move(names)),
      differences_(parameters_.size(), 0),
      greatest_(parameters_.size(), 0) {}

void ReplicaCheck::check(const ProcessGroup& group, const std::string& after) {
  if (parameters_.empty()) return;
  const torch::NoGradGuard no_grad;
  const torch::Tensor differs = differing(parameters_, group);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const double before = std::exchange(differences_[i], 0);
    if (!differs[static_cast<std::int64_t>(i)].item<bool>()) continue;
    const Spread spread = spread_of(parameters_[i], group);
    if (!spread.is_finite) {
      throw Error(text("parameter ",
                       names_[i],
                       " has a value that is not finite on at least one rank; check the loss by "
                       "require_finite() in each step"));
    }
    greatest_[i] = std::max(greatest_[i], spread.greatest);
    const double now = spread.difference == 0 ? 0 : spread.difference / greatest_[i];
    differences_[i] = now;
    const std::string what = text("parameter ",
                                  names_[i],
                                  " differs between ranks by ",
                                  now,
                                  " of its greatest value after ",
                                  after);
    if (is_apart(now, before, epsilon_of(parameters_[i].scalar_type()))) {
      throw Error(what +
                  ": step the optimizer on every rank, with the same settings, and change "
                  "parameters on all ranks alike; parameters that are to differ belong into "
                  "DistributedDataParallelOptions::verify_ignored");
    }
    if (now > 0 && !std::exchange(has_warned_, true) && group.rank() == 0) {
      std::cerr << what + ", as between processors that round differently\n";
    }
  }
}

}  // namespace ddprun::worker
