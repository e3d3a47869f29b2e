// The parameters that a step changes, in pieces. An algorithm changes a piece by one call of each
// of its operators. On a GPU a call costs more than its work on one parameter, so a piece has all
// parameters of a type. On a CPU a step waits for memory, so a piece is small: each operator finds
// in the cache what the one before it wrote.
#pragma once

#include "worker/torch_compat.hpp"

#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace ddprun::worker::optimizers {

constexpr std::size_t states_max = 3;

/// A parameter that has a gradient. All tensors have its shape. States may be undefined.
struct Row {
  torch::Tensor parameter;
  torch::Tensor gradient;
  std::array<torch::Tensor, states_max> states;
  std::int64_t step = 0;  ///< The first one is 1.
};

/// Rows or parts of them, as the operators take them. A list of states is empty if they are
/// undefined.
struct Piece {
  std::vector<torch::Tensor> parameters;
  std::vector<torch::Tensor> gradients;
  std::array<std::vector<torch::Tensor>, states_max> states;
  std::vector<std::int64_t> steps;
};

using Algorithm = std::function<void(const Piece&)>;

/// Calls `algorithm`, which works element by element, for all pieces of `rows`, without recording
/// gradients. Pieces of a CPU are shared among torch::get_num_threads() threads; their bounds do
/// not depend on that number. The same states must be defined in all rows.
void for_each_piece(const std::vector<Row>& rows, const Algorithm& algorithm);

/// The parameters in `group` that have a gradient, each once. Throws Error that names `optimizer`
/// for one that is complex or whose gradient is sparse.
[[nodiscard]] std::vector<torch::Tensor> trained_parameters(
    const torch::optim::OptimizerParamGroup& group, const char* optimizer);

/// The state that `optimizer` has of `parameter`, made if it has none.
template <typename State>
State& state_of(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter) {
  auto& state = optimizer.state()[compat::state_key(optimizer, parameter)];
  if (!state) state = std::make_unique<State>();
  return static_cast<State&>(*state);
}

/// The loss that `closure` returns, with gradients on; undefined if there is no closure.
[[nodiscard]] torch::Tensor loss_of(const torch::optim::Optimizer::LossClosure& closure);

}  // namespace ddprun::worker::optimizers
