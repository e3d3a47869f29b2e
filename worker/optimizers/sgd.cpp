#include "ddprun/optimizers.hpp"
#include "worker/optimizers/rows.hpp"

namespace ddprun::worker {
namespace {

namespace optim = torch::optim;
using optimizers::Piece;
using optimizers::Row;
using torch::Tensor;

/// Whether the momentum of a parameter begins in this step, with the gradient as it is.
enum class Momentum : std::uint8_t { begins, goes_on };

void take_sgd_step(const Piece& piece, const optim::SGDOptions& options, Momentum momentum) {
  std::vector<Tensor> gradients = piece.gradients;
  if (options.weight_decay() != 0) {
    gradients = at::_foreach_add(gradients, piece.parameters, options.weight_decay());
  }
  if (options.momentum() != 0) {
    const std::vector<Tensor>& buffers = piece.states[0];
    if (momentum == Momentum::begins) {
      for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].copy_(gradients[i]);
    } else {
      at::_foreach_mul_(buffers, options.momentum());
      at::_foreach_add_(buffers, gradients, 1 - options.dampening());
    }
    gradients =
        options.nesterov() ? at::_foreach_add(gradients, buffers, options.momentum()) : buffers;
  }
  at::_foreach_add_(piece.parameters, gradients, -options.lr());
}

}  // namespace

Tensor SGD::step(LossClosure closure) {
  Tensor loss = optimizers::loss_of(closure);
  for (const optim::OptimizerParamGroup& group : param_groups()) {
    const auto& options = static_cast<const optim::SGDOptions&>(group.options());
    std::vector<Row> begins;
    std::vector<Row> goes_on;
    for (const Tensor& parameter : optimizers::trained_parameters(group, "SGD")) {
      if (options.momentum() == 0) {
        goes_on.push_back({parameter, parameter.grad(), {}});
        continue;
      }
      auto& state = optimizers::state_of<optim::SGDParamState>(*this, parameter);
      const bool is_first = !state.momentum_buffer().defined();
      if (is_first) state.momentum_buffer(torch::empty_like(parameter.grad()));
      (is_first ? begins : goes_on)
          .push_back({parameter, parameter.grad(), {state.momentum_buffer()}});
    }
    optimizers::for_each_piece(
        begins, [&](const Piece& piece) { take_sgd_step(piece, options, Momentum::begins); });
    optimizers::for_each_piece(
        goes_on, [&](const Piece& piece) { take_sgd_step(piece, options, Momentum::goes_on); });
  }
  return loss;
}

}  // namespace ddprun::worker
