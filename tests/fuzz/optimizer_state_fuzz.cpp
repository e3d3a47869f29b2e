// The state of an optimizer: a right one with changes, or a pickle. Rules: an error names the entry
// and leaves the optimizer as it was; what is accepted is saved, loads into another optimizer as
// the same state, is the same when it is adopted, and the optimizer then takes a step.
#include "ddprun/optimizer_state.hpp"
#include "ddprun/optimizers.hpp"
#include "tests/fuzz/told_error.hpp"
#include "tests/fuzz/values.hpp"
#include "tests/fuzz/worker_targets.hpp"
#include "worker/pt/pickle_reader.hpp"
#include "worker/snapshots/copied_tensors.hpp"

#include <torch/torch.h>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun::fuzz {
namespace {

namespace optim = torch::optim;
using torch::Tensor;

constexpr std::string_view state_refusal = "the optimizer state does not fit this optimizer: ";
constexpr std::array<std::string_view, 38> state_words{"state",
                                                       "param_groups",
                                                       "params",
                                                       "lr",
                                                       "momentum",
                                                       "dampening",
                                                       "weight_decay",
                                                       "nesterov",
                                                       "maximize",
                                                       "momentum_buffer",
                                                       "betas",
                                                       "eps",
                                                       "amsgrad",
                                                       "step",
                                                       "exp_avg",
                                                       "exp_avg_sq",
                                                       "max_exp_avg_sq",
                                                       "alpha",
                                                       "centered",
                                                       "square_avg",
                                                       "grad_avg",
                                                       "lr_decay",
                                                       "sum",
                                                       "initial_accumulator_value",
                                                       "max_iter",
                                                       "max_eval",
                                                       "tolerance_grad",
                                                       "tolerance_change",
                                                       "history_size",
                                                       "line_search_fn",
                                                       "strong_wolfe",
                                                       "func_evals",
                                                       "n_iter",
                                                       "prev_loss",
                                                       "H_diag",
                                                       "old_dirs",
                                                       "old_stps",
                                                       "ro"};
constexpr std::size_t kinds_count = 8;

/// An optimizer with two parameters that have gradients.
struct Training {
  std::vector<Tensor> parameters;
  std::unique_ptr<optim::Optimizer> optimizer;

  void step() const {
    optimizer->step([this] {
      for (const Tensor& parameter : parameters) parameter.mutable_grad() = parameter.detach() + 1;
      return torch::tensor(0.5F);
    });
  }
};

std::unique_ptr<optim::Optimizer> make_optimizer(std::size_t kind, std::vector<Tensor> on) {
  switch (kind) {
    case 0:
      return std::make_unique<worker::SGD>(on, optim::SGDOptions(0.1));
    case 1:
      return std::make_unique<worker::SGD>(on, optim::SGDOptions(0.1).momentum(0.9));
    case 2:
      return std::make_unique<worker::Adam>(on, optim::AdamOptions(0.1));
    case 3:
      return std::make_unique<worker::AdamW>(on, optim::AdamWOptions(0.1).amsgrad(true));
    case 4:
      return std::make_unique<worker::RMSprop>(
          on, optim::RMSpropOptions(0.1).momentum(0.9).centered(true));
    case 5:
      return std::make_unique<optim::Adagrad>(on, optim::AdagradOptions(0.1));
    case 6:
      return std::make_unique<optim::LBFGS>(on, optim::LBFGSOptions(0.1).max_iter(2));
    default:
      return std::make_unique<optim::LBFGS>(
          on, optim::LBFGSOptions(0.1).max_iter(2).history_size(2).line_search_fn("strong_wolfe"));
  }
}

Training make_training(std::size_t kind) {
  Training training{{torch::ones({2, 3}), torch::full({4}, 0.5)}, nullptr};
  for (Tensor& parameter : training.parameters) {
    parameter.set_requires_grad(true);
    parameter.mutable_grad() = torch::ones_like(parameter);
  }
  training.optimizer = make_optimizer(kind, training.parameters);
  return training;
}

/// Changes one entry of `value`, at any depth: it is replaced, removed, doubled or added.
void change(const c10::IValue& value, Choices& choices) {
  if (value.isGenericDict()) {
    auto dict = value.toGenericDict();
    std::vector<c10::IValue> keys;
    for (const auto& entry : dict) keys.push_back(entry.key());
    const std::size_t action = choices.below(8);
    if (action == 0 || keys.empty()) {
      dict.insert_or_assign(std::string(state_words[choices.below(state_words.size())]),
                            chosen_value(choices, state_words));
      return;
    }
    const c10::IValue key = keys[choices.below(keys.size())];
    if (action == 1) return static_cast<void>(dict.erase(key));
    const c10::IValue entry = dict.at(key);
    if (entry.isTensor() && action > 5) {
      static constexpr std::array types{torch::kDouble, torch::kHalf, torch::kLong};
      const auto type = types.at(choices.below(types.size()));
      dict.insert_or_assign(key, entry.toTensor().to(type));
      return;
    }
    const bool is_inner = entry.isGenericDict() || entry.isList();
    if (is_inner && action > 3) return change(entry, choices);
    dict.insert_or_assign(
        key, action == 2 ? chosen_value(choices, state_words) : chosen_leaf(choices, state_words));
  } else if (value.isList()) {
    auto list = value.toList();
    const std::size_t action = choices.below(8);
    if (action == 0 || list.empty()) return list.push_back(chosen_leaf(choices, state_words));
    const std::size_t at = choices.below(list.size());
    const c10::IValue item = list.get(at);
    if (action == 1) return list.push_back(item);
    if (action == 2) return static_cast<void>(list.erase(list.begin() + at));
    const bool is_inner = item.isGenericDict() || item.isList();
    if (is_inner && action > 3) return change(item, choices);
    list.set(at, chosen_leaf(choices, state_words));
  }
}

/// The state after so many steps, made once.
const c10::IValue& right_state(std::size_t kind, std::size_t steps_count) {
  static std::map<std::pair<std::size_t, std::size_t>, c10::IValue> made;
  c10::IValue& state = made[{kind, steps_count}];
  if (!state.isNone()) return state;
  const Training training = make_training(kind);
  for (std::size_t i = 0; i < steps_count; ++i) training.step();
  return state = worker::copied(worker::optimizer_state(*training.optimizer));
}

/// A state after a few steps, with as many changes as the bytes have.
c10::IValue changed_state(std::size_t kind, Choices& choices) {
  c10::IValue state = worker::copied(right_state(kind, choices.below(4)));
  for (int changes = 0; changes < 8 && !choices.is_at_end(); ++changes) change(state, choices);
  return state;
}

c10::IValue pickled_state(std::string_view pickle) {
  constexpr std::size_t storage_bytes_max = 4096;
  const auto make = [](const std::string&, std::size_t bytes) {
    if (bytes > storage_bytes_max) throw worker::Error("too large");
    return torch::zeros({static_cast<std::int64_t>(bytes)}, torch::kByte).storage();
  };
  try {
    return worker::read_pickle(pickle, make, {.nodes_count = 5'000});
  } catch (const worker::Error&) {
    return {};
  }
}

/// LibTorch keeps what it computes for each step of the history in a row of history_size.
void check_room(const optim::Optimizer& optimizer) {
  const auto& group = optimizer.param_groups()[0];
  const auto* const options = dynamic_cast<const optim::LBFGSOptions*>(&group.options());
  if (options == nullptr) return;
  for (const auto& [key, state] : optimizer.state()) {
    const auto& history = static_cast<const optim::LBFGSParamState&>(*state).ro();
    require(std::cmp_less_equal(history.size(), options->history_size()), "history has room");
  }
}

/// Files may ask LBFGS for more iterations than a test has time for.
void bound_iterations(optim::Optimizer& optimizer) {
  for (auto& group : optimizer.param_groups()) {
    auto* const options = dynamic_cast<optim::LBFGSOptions*>(&group.options());
    if (options != nullptr) options->max_iter(3).max_eval(10);
  }
}

void check_accepted(const Training& loaded, std::size_t kind, const c10::IValue& state) {
  const c10::IValue saved = worker::copied(worker::optimizer_state(*loaded.optimizer));
  const Training other = make_training(kind);
  require(told_error(state_refusal, [&] { worker::load_optimizer_state(*other.optimizer, saved); })
              .empty(),
          "what is saved is loaded");
  require(is_same(worker::optimizer_state(*other.optimizer), saved), "the same state is saved");
  const Training adopter = make_training(kind);
  require(
      told_error(state_refusal,
                 [&] { worker::adopt_optimizer_state(*adopter.optimizer, worker::copied(state)); })
          .empty(),
      "what is loaded may be adopted");
  require(is_same(worker::optimizer_state(*adopter.optimizer), saved), "the same is adopted");
  check_room(*loaded.optimizer);
  bound_iterations(*loaded.optimizer);
  require(told_error("", [&] { loaded.step(); }).empty(), "a loaded optimizer takes a step");
}

}  // namespace

void fuzz_optimizer_state(std::string_view bytes) {
  Choices choices(bytes);
  const std::size_t kind = choices.below(kinds_count);
  const bool is_pickle = choices.below(4) == 3;
  const c10::IValue state =
      is_pickle ? pickled_state(choices.rest()) : changed_state(kind, choices);
  const Training training = make_training(kind);
  training.step();
  const c10::IValue before = worker::copied(worker::optimizer_state(*training.optimizer));
  const std::string error =
      told_error(state_refusal, [&] { worker::load_optimizer_state(*training.optimizer, state); });
  if (error.empty()) return check_accepted(training, kind, state);
  require(is_same(worker::optimizer_state(*training.optimizer), before),
          "an optimizer that refuses a state is as before");
}

}  // namespace ddprun::fuzz
