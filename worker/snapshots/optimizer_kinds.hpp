// How the state of each of LibTorch's optimizers looks in Python's optimizer.state_dict().
//
// Each kind has `save` and `load` for the options of a group and for the state of a parameter. The
// names of the entries are those of torch/optim in Python.
#pragma once

#include "ddprun/error.hpp"
#include "worker/pt/shown.hpp"
#include "worker/snapshots/optimizer_source.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <tuple>
#include <utility>

namespace ddprun::worker::optimizer_kinds {

namespace optim = torch::optim;
using Dict = OptimizerDict;
using Source = OptimizerSource;

/// What a state that is loaded has to fit.
struct Place {
  const torch::Tensor& parameter;
  std::int64_t elements = 0;  ///< Of all parameters of the group, which some optimizers join.
  const optim::OptimizerOptions& options;  ///< Of the group, as they were loaded.
};

/// As a float tensor, as Python since 1.12.
inline void save_step(std::int64_t step, Dict& entry) {
  entry.insert("step", torch::tensor(static_cast<float>(step)));
}

inline void save_if_defined(const char* key, const torch::Tensor& tensor, Dict& entry) {
  if (tensor.defined()) entry.insert(key, tensor);
}

struct Sgd {
  using Options = optim::SGDOptions;
  using State = optim::SGDParamState;

  static void save(const Options& options, Dict& group) {
    group.insert("lr", options.lr());
    group.insert("momentum", options.momentum());
    group.insert("dampening", options.dampening());
    group.insert("weight_decay", options.weight_decay());
    group.insert("nesterov", options.nesterov());
  }
  static void load(Options& options, const Source& group) {
    options.lr(group.number("lr"));
    options.momentum(group.number("momentum"));
    options.dampening(group.number("dampening"));
    options.weight_decay(group.number("weight_decay"));
    options.nesterov(group.flag("nesterov"));
  }
  static void save(const State& state, Dict& entry) {
    save_if_defined("momentum_buffer", state.momentum_buffer(), entry);
  }
  static void load(State& state, const Source& entry, const Place& at) {
    state.momentum_buffer(entry.tensor("momentum_buffer", at.parameter));
  }
  static bool is_empty(const State& state) { return !state.momentum_buffer().defined(); }
};

/// Adam and AdamW have the same names for everything.
template <typename AdamOptions, typename AdamState>
struct AdamLike {
  using Options = AdamOptions;
  using State = AdamState;

  static void save(const Options& options, Dict& group) {
    group.insert("lr", options.lr());
    group.insert(
        "betas",
        c10::ivalue::Tuple::create({std::get<0>(options.betas()), std::get<1>(options.betas())}));
    group.insert("eps", options.eps());
    group.insert("weight_decay", options.weight_decay());
    group.insert("amsgrad", options.amsgrad());
    group.insert("capturable", false);
  }
  static void load(Options& options, const Source& group) {
    options.lr(group.number("lr"));
    options.betas(group.two_numbers("betas"));
    options.eps(group.number("eps"));
    options.weight_decay(group.number("weight_decay"));
    options.amsgrad(group.flag("amsgrad"));
  }
  static void save(const State& state, Dict& entry) {
    save_step(state.step(), entry);
    entry.insert("exp_avg", state.exp_avg());
    entry.insert("exp_avg_sq", state.exp_avg_sq());
    save_if_defined("max_exp_avg_sq", state.max_exp_avg_sq(), entry);
  }
  static void load(State& state, const Source& entry, const Place& at) {
    state.step(entry.count("step"));
    state.exp_avg(entry.required("exp_avg", at.parameter));
    state.exp_avg_sq(entry.required("exp_avg_sq", at.parameter));
    state.max_exp_avg_sq(entry.tensor("max_exp_avg_sq", at.parameter));
  }
  static bool is_empty(const State&) { return false; }
};

struct RmsProp {
  using Options = optim::RMSpropOptions;
  using State = optim::RMSpropParamState;

  static void save(const Options& options, Dict& group) {
    group.insert("lr", options.lr());
    group.insert("alpha", options.alpha());
    group.insert("eps", options.eps());
    group.insert("weight_decay", options.weight_decay());
    group.insert("momentum", options.momentum());
    group.insert("centered", options.centered());
    group.insert("capturable", false);
  }
  static void load(Options& options, const Source& group) {
    options.lr(group.number("lr"));
    options.alpha(group.number("alpha"));
    options.eps(group.number("eps"));
    options.weight_decay(group.number("weight_decay"));
    options.momentum(group.number("momentum"));
    options.centered(group.flag("centered"));
  }
  static void save(const State& state, Dict& entry) {
    save_step(state.step(), entry);
    entry.insert("square_avg", state.square_avg());
    save_if_defined("momentum_buffer", state.momentum_buffer(), entry);
    save_if_defined("grad_avg", state.grad_avg(), entry);
  }
  static void load(State& state, const Source& entry, const Place& at) {
    state.step(entry.count("step"));
    state.square_avg(entry.required("square_avg", at.parameter));
    state.momentum_buffer(entry.tensor("momentum_buffer", at.parameter));
    state.grad_avg(entry.tensor("grad_avg", at.parameter));
  }
  static bool is_empty(const State&) { return false; }
};

struct Adagrad {
  using Options = optim::AdagradOptions;
  using State = optim::AdagradParamState;

  static void save(const Options& options, Dict& group) {
    group.insert("lr", options.lr());
    group.insert("lr_decay", options.lr_decay());
    group.insert("weight_decay", options.weight_decay());
    group.insert("initial_accumulator_value", options.initial_accumulator_value());
    group.insert("eps", options.eps());
  }
  static void load(Options& options, const Source& group) {
    options.lr(group.number("lr"));
    options.lr_decay(group.number("lr_decay"));
    options.weight_decay(group.number("weight_decay"));
    options.initial_accumulator_value(group.number("initial_accumulator_value"));
    options.eps(group.number("eps"));
  }
  static void save(const State& state, Dict& entry) {
    save_step(state.step(), entry);
    entry.insert("sum", state.sum());
  }
  static void load(State& state, const Source& entry, const Place& at) {
    state.step(entry.count("step"));
    state.sum(entry.required("sum", at.parameter));
  }
  static bool is_empty(const State&) { return false; }
  /// It is made with the optimizer, which cannot step without it.
  static constexpr bool is_required = true;
};

/// One state for all parameters, at the first of them. What a step only computes with, "al", is
/// left out: either side makes it anew.
struct Lbfgs {
  using Options = optim::LBFGSOptions;
  using State = optim::LBFGSParamState;

  static void save(const Options& options, Dict& group) {
    group.insert("lr", options.lr());
    group.insert("max_iter", options.max_iter());
    group.insert("max_eval", options.max_eval() ? c10::IValue(*options.max_eval()) : c10::IValue());
    group.insert("tolerance_grad", options.tolerance_grad());
    group.insert("tolerance_change", options.tolerance_change());
    group.insert("history_size", options.history_size());
    group.insert("line_search_fn",
                 options.line_search_fn() ? c10::IValue(*options.line_search_fn()) : c10::IValue());
  }
  static void load(Options& options, const Source& group) {
    options.lr(group.number("lr"));
    options.max_iter(group.count("max_iter"));
    if (group.find("max_eval")) options.max_eval(group.count("max_eval"));
    options.tolerance_grad(group.number("tolerance_grad"));
    options.tolerance_change(group.number("tolerance_change"));
    options.history_size(group.count("history_size"));
    check_history(options.history_size(), group);
    const auto search = group.find("line_search_fn");
    if (search && !search->isString()) group.fail("has a \"line_search_fn\" that is not a name");
    if (search && search->toStringRef() != "strong_wolfe") {
      const std::string name = shown(search->toStringRef());
      group.fail(text("has a \"line_search_fn\" of ", name, ", not strong_wolfe"));
    }
    options.line_search_fn() = {};
    if (search) options.line_search_fn(search->toStringRef());
  }
  static void save(const State& state, Dict& entry) {
    entry.insert("func_evals", state.func_evals());
    entry.insert("n_iter", state.n_iter());
    entry.insert("t", state.t());
    entry.insert("prev_loss", state.prev_loss());
    save_if_defined("d", state.d(), entry);
    save_if_defined("H_diag", state.H_diag(), entry);
    save_if_defined("prev_flat_grad", state.prev_flat_grad(), entry);
    entry.insert("old_dirs", list_of(state.old_dirs()));
    entry.insert("old_stps", list_of(state.old_stps()));
    entry.insert("ro", list_of(state.ro()));
  }
  static void load(State& state, const Source& entry, const Place& at) {
    state.func_evals(entry.count("func_evals"));
    state.n_iter(entry.count("n_iter"));
    if (state.n_iter() == 0) return;
    state.t(entry.number("t"));
    state.prev_loss(entry.number("prev_loss"));
    const auto options = at.parameter.options().requires_grad(false);
    const torch::Tensor flat = torch::empty({at.elements}, options);
    state.d(entry.required("d", flat));
    state.H_diag(torch::tensor(entry.number("H_diag"), options));
    state.prev_flat_grad(entry.required("prev_flat_grad", flat));
    state.old_dirs(entry.tensors("old_dirs", flat));
    state.old_stps(entry.tensors("old_stps", flat));
    state.ro(entry.tensors("ro", torch::empty({}, options)));
    const std::size_t count = state.ro().size();
    if (state.old_dirs().size() != count || state.old_stps().size() != count) {
      entry.fail("has \"old_dirs\", \"old_stps\" and \"ro\" of different lengths");
    }
    // LibTorch writes beyond the end of a row of history_size numbers otherwise.
    const std::int64_t room = static_cast<const Options&>(at.options).history_size();
    if (std::cmp_greater(count, room)) {
      entry.fail(text("has more steps in \"old_dirs\" than the \"history_size\" of ", room));
    }
  }
  static bool is_empty(const State&) { return false; }

 private:
  /// A step reserves a tensor for each.
  static void check_history(std::int64_t size, const Source& group) {
    constexpr std::int64_t size_max = 1 << 20;
    if (size == 0) group.fail("has a \"history_size\" of 0");
    if (size <= size_max) return;
    group.fail(text("has a \"history_size\" of ", size, ", the most is ", size_max));
  }
  static c10::impl::GenericList list_of(const std::deque<torch::Tensor>& tensors) {
    c10::impl::GenericList list(c10::AnyType::get());
    for (const torch::Tensor& tensor : tensors) list.push_back(tensor);
    return list;
  }
};

/// Calls `visit` with the description above that fits an optimizer with these options.
template <typename Visit>
auto with_kind_of(const optim::OptimizerOptions& options, const Visit& visit) {
  if (dynamic_cast<const optim::SGDOptions*>(&options)) return visit(Sgd{});
  if (dynamic_cast<const optim::AdamOptions*>(&options)) {
    return visit(AdamLike<optim::AdamOptions, optim::AdamParamState>{});
  }
  if (dynamic_cast<const optim::AdamWOptions*>(&options)) {
    return visit(AdamLike<optim::AdamWOptions, optim::AdamWParamState>{});
  }
  if (dynamic_cast<const optim::RMSpropOptions*>(&options)) return visit(RmsProp{});
  if (dynamic_cast<const optim::AdagradOptions*>(&options)) return visit(Adagrad{});
  if (dynamic_cast<const optim::LBFGSOptions*>(&options)) return visit(Lbfgs{});
  throw Error(
      "snapshots hold the state of LibTorch's own optimizers; use one of them, or save without the "
      "optimizer");
}

}  // namespace ddprun::worker::optimizer_kinds
