// Adam and AdamW differ in the decay of weights only.
#include "ddprun/optimizers.hpp"
#include "worker/optimizers/python_numbers.hpp"
#include "worker/optimizers/rows.hpp"

#include <cmath>

namespace ddprun::worker {
namespace {

namespace optim = torch::optim;
using optimizers::Piece;
using torch::Tensor;

template <typename Options>
constexpr bool is_decoupled = std::is_same_v<Options, optim::AdamWOptions>;

/// Decays the weights of `piece`. The result is its gradients, to which Adam adds that decay.
template <typename Options>
std::vector<Tensor> decay_weights(const Piece& piece, const Options& options) {
  if (options.weight_decay() == 0) return piece.gradients;
  if constexpr (is_decoupled<Options>) {
    at::_foreach_mul_(piece.parameters, 1 - options.lr() * options.weight_decay());
    return piece.gradients;
  } else {
    return at::_foreach_add(piece.gradients, piece.parameters, options.weight_decay());
  }
}

template <typename Options>
void take_adam_step(const Piece& piece, const Options& options) {
  const auto [beta1, beta2] = options.betas();
  const auto& [averages, squares, maxima] = piece.states;
  const std::vector<Tensor> gradients = decay_weights(piece, options);
  optimizers::move_averages(averages, gradients, beta1);
  at::_foreach_mul_(squares, beta2);
  at::_foreach_addcmul_(squares, gradients, gradients, 1 - beta2);
  if (options.amsgrad()) at::_foreach_maximum_(maxima, squares);

  std::vector<at::Scalar> corrections;
  std::vector<at::Scalar> factors;
  for (const std::int64_t step : piece.steps) {
    const auto exponent = static_cast<double>(step);
    corrections.emplace_back(optimizers::square_root(1 - std::pow(beta2, exponent)));
    factors.emplace_back(-(options.lr() / (1 - std::pow(beta1, exponent))));
  }
  const std::vector<Tensor> denominators = at::_foreach_sqrt(options.amsgrad() ? maxima : squares);
  at::_foreach_div_(denominators, corrections);
  at::_foreach_add_(denominators, options.eps());
  at::_foreach_addcdiv_(piece.parameters, averages, denominators, factors);
}

template <typename Options, typename State>
void step_adam(optim::Optimizer& optimizer, const char* name) {
  for (const optim::OptimizerParamGroup& group : optimizer.param_groups()) {
    const auto& options = static_cast<const Options&>(group.options());
    std::vector<optimizers::Row> rows;
    for (const Tensor& parameter : optimizers::trained_parameters(group, name)) {
      auto& state = optimizers::state_of<State>(optimizer, parameter);
      if (!state.exp_avg().defined()) {
        state.exp_avg(torch::zeros_like(parameter));
        state.exp_avg_sq(torch::zeros_like(parameter));
      }
      if (options.amsgrad() && !state.max_exp_avg_sq().defined()) {
        state.max_exp_avg_sq(torch::zeros_like(parameter));
      }
      state.step(state.step() + 1);
      const Tensor maximum = options.amsgrad() ? state.max_exp_avg_sq() : Tensor();
      rows.push_back({parameter,
                      parameter.grad(),
                      {state.exp_avg(), state.exp_avg_sq(), maximum},
                      state.step()});
    }
    optimizers::for_each_piece(rows, [&](const Piece& piece) { take_adam_step(piece, options); });
  }
}

}  // namespace

Tensor Adam::step(LossClosure closure) {
  Tensor loss = optimizers::loss_of(closure);
  step_adam<optim::AdamOptions, optim::AdamParamState>(*this, "Adam");
  return loss;
}

Tensor AdamW::step(LossClosure closure) {
  Tensor loss = optimizers::loss_of(closure);
  step_adam<optim::AdamWOptions, optim::AdamWParamState>(*this, "AdamW");
  return loss;
}

}  // namespace ddprun::worker
