#include "ddprun/optimizers.hpp"
#include "worker/optimizers/python_numbers.hpp"
#include "worker/optimizers/rows.hpp"

namespace ddprun::worker {
namespace {

namespace optim = torch::optim;
using optimizers::Piece;
using torch::Tensor;

void take_rmsprop_step(const Piece& piece, const optim::RMSpropOptions& options) {
  const auto& [squares, averages, buffers] = piece.states;
  std::vector<Tensor> gradients = piece.gradients;
  if (options.weight_decay() != 0) {
    gradients = at::_foreach_add(gradients, piece.parameters, options.weight_decay());
  }
  at::_foreach_mul_(squares, options.alpha());
  at::_foreach_addcmul_(squares, gradients, gradients, 1 - options.alpha());
  std::vector<Tensor> denominators;
  if (options.centered()) {
    optimizers::move_averages(averages, gradients, options.alpha());
    denominators = at::_foreach_addcmul(squares, averages, averages, -1);
    at::_foreach_sqrt_(denominators);
  } else {
    denominators = at::_foreach_sqrt(squares);
  }
  at::_foreach_add_(denominators, options.eps());
  if (options.momentum() > 0) {
    at::_foreach_mul_(buffers, options.momentum());
    at::_foreach_addcdiv_(buffers, gradients, denominators, 1);
    at::_foreach_add_(piece.parameters, buffers, -options.lr());
  } else {
    at::_foreach_addcdiv_(piece.parameters, gradients, denominators, -options.lr());
  }
}

}  // namespace

Tensor RMSprop::step(LossClosure closure) {
  Tensor loss = optimizers::loss_of(closure);
  for (const optim::OptimizerParamGroup& group : param_groups()) {
    const auto& options = static_cast<const optim::RMSpropOptions&>(group.options());
    std::vector<optimizers::Row> rows;
    for (const Tensor& parameter : optimizers::trained_parameters(group, "RMSprop")) {
      auto& state = optimizers::state_of<optim::RMSpropParamState>(*this, parameter);
      const auto used = [&](bool is_used, Tensor& tensor) {
        if (is_used && !tensor.defined()) tensor = torch::zeros_like(parameter);
        return is_used ? tensor : Tensor();
      };
      const Tensor square = used(true, state.square_avg());
      const Tensor average = used(options.centered(), state.grad_avg());
      const Tensor buffer = used(options.momentum() > 0, state.momentum_buffer());
      state.step(state.step() + 1);
      rows.push_back({parameter, parameter.grad(), {square, average, buffer}, state.step()});
    }
    optimizers::for_each_piece(rows,
                               [&](const Piece& piece) { take_rmsprop_step(piece, options); });
  }
  return loss;
}

}  // namespace ddprun::worker
