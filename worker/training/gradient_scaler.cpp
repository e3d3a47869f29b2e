#include "worker/training/gradient_scaler.hpp"

#include "ddprun/error.hpp"

#include <cmath>
#include <utility>

namespace ddprun::worker {
namespace {

// A CPU of LibTorch 1.13 lacks the operator that does both in one pass.
void divide_on_cpu(const std::vector<torch::Tensor>& gradients,
                   const torch::Tensor& overflow,
                   double factor) {
  for (const auto& gradient : gradients) {
    if (!gradient.isfinite().all().item<bool>()) overflow.fill_(1);
    gradient.mul_(factor);
  }
}

}  // namespace

void GradientScaler::unscale() {
  if (overflow_.defined()) return;
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients;
  for (const auto& parameter : parameters_) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  const auto device = parameters_.empty() ? torch::kCPU : parameters_.front().device();
  overflow_ = torch::zeros({1}, torch::TensorOptions(torch::kFloat).device(device));
  if (gradients.empty()) return;
  if (device.is_cpu()) return divide_on_cpu(gradients, overflow_, 1 / rule_.scale);
  const torch::Tensor factor = torch::full({1}, 1 / rule_.scale, overflow_.options());
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow_, factor);
}

bool GradientScaler::take_overflow() {
  unscale();
  const bool has_overflowed = overflow_.item<float>() != 0;
  overflow_ = torch::Tensor();
  rule_.update(has_overflowed);
  return has_overflowed;
}

c10::IValue GradientScaler::state() const {
  c10::impl::GenericDict state(c10::StringType::get(), c10::AnyType::get());
  state.insert("scale", rule_.scale);
  state.insert("growth_factor", rule_.growth_factor);
  state.insert("backoff_factor", rule_.backoff_factor);
  state.insert("growth_interval", rule_.growth_interval);
  state.insert("_growth_tracker", rule_.growth_tracker);
  return state;
}

void GradientScaler::load(const c10::IValue& state) {
  if (!state.isGenericDict()) throw Error("SCALER_STATE is not a dict");
  const auto dict = state.toGenericDict();
  const auto positive = [&](const char* key) {
    const auto found = dict.find(key);
    if (found == dict.end() || !found->value().isDouble() || !(found->value().toDouble() > 0) ||
        !std::isfinite(found->value().toDouble())) {
      throw Error(text("SCALER_STATE has no ", key, " that is a positive number"));
    }
    return found->value().toDouble();
  };
  const auto count = [&](const char* key, std::int64_t least) {
    const auto found = dict.find(key);
    if (found == dict.end() || !found->value().isInt() || found->value().toInt() < least) {
      throw Error(text("SCALER_STATE has no ", key, " of at least ", least));
    }
    return found->value().toInt();
  };
  rule_ = {positive("scale"),
           positive("growth_factor"),
           positive("backoff_factor"),
           count("growth_interval", 1),
           count("_growth_tracker", 0)};
}

}  // namespace ddprun::worker
