#include "ddprun/optimizer_state.hpp"

#include "ddprun/error.hpp"
#include "worker/torch_compat.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

namespace optim = torch::optim;
using Dict = c10::impl::GenericDict;

Dict make_dict() {
  return Dict(c10::AnyType::get(), c10::AnyType::get());
}

/// A dict of the state being loaded, with `path` to name its entries in messages.
class Source {
 public:
  Source(const c10::IValue& value, std::string path) : dict_(make_dict()), path_(std::move(path)) {
    if (!value.isGenericDict()) fail("is not a dict");
    dict_ = value.toGenericDict();
  }

  [[nodiscard]] std::optional<c10::IValue> find(const c10::IValue& key) const {
    const auto found = dict_.find(key);
    if (found == dict_.end() || found->value().isNone()) return std::nullopt;
    return found->value();
  }
  [[nodiscard]] c10::IValue get(const char* key) const {
    auto found = find(key);
    if (!found) fail(text("has no \"", key, "\""));
    return *std::move(found);
  }
  /// Python has numbers as int or float and, from some versions on, as tensors of one element.
  [[nodiscard]] double number(const char* key) const {
    const auto found = number_in(get(key));
    if (!found) fail(text("has a \"", key, "\" that is not a number"));
    return *found;
  }
  [[nodiscard]] std::tuple<double, double> two_numbers(const char* key) const {
    const std::vector<c10::IValue> items = items_of(get(key));
    const auto first = items.size() == 2 ? number_in(items[0]) : std::nullopt;
    const auto second = items.size() == 2 ? number_in(items[1]) : std::nullopt;
    if (!first || !second) fail(text("has \"", key, "\" that are not two numbers"));
    return {*first, *second};
  }
  [[nodiscard]] bool flag(const char* key) const {
    const auto value = find(key);
    if (value && !value->isBool()) fail(text("has a \"", key, "\" that is not a bool"));
    return value && value->toBool();
  }
  /// Undefined when there is none; else of the shape, type and device of `parameter`.
  [[nodiscard]] torch::Tensor tensor(const char* key, const torch::Tensor& parameter) const {
    const auto value = find(key);
    if (!value) return {};
    if (!value->isTensor() || value->toTensor().sizes() != parameter.sizes()) {
      fail(text("has a \"", key, "\" of another shape than its parameter, ", parameter.sizes()));
    }
    return value->toTensor().to(parameter.options()).clone();
  }
  [[nodiscard]] torch::Tensor required(const char* key, const torch::Tensor& parameter) const {
    static_cast<void>(get(key));
    return tensor(key, parameter);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(text("the optimizer state does not fit this optimizer: ", path_, " ", what));
  }

 private:
  static std::optional<double> number_in(const c10::IValue& value) {
    if (value.isDouble()) return value.toDouble();
    if (value.isInt()) return static_cast<double>(value.toInt());
    if (value.isTensor() && value.toTensor().numel() == 1) return value.toTensor().item<double>();
    return std::nullopt;
  }
  /// The elements of a tuple or a list, which Python treats alike; nothing for other values.
  static std::vector<c10::IValue> items_of(const c10::IValue& value) {
    if (value.isTuple()) {
      const auto& elements = value.toTupleRef().elements();
      return std::vector<c10::IValue>(elements.begin(), elements.end());
    }
    return value.isList() ? value.toListRef().vec() : std::vector<c10::IValue>();
  }

  Dict dict_;
  std::string path_;
};

/// Options that Python's optimizers expect in a group and C++ lacks.
void insert_python_defaults(Dict& group) {
  group.insert("maximize", false);
  group.insert("foreach", c10::IValue());
  group.insert("differentiable", false);
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
    if (state.momentum_buffer().defined()) {
      entry.insert("momentum_buffer", state.momentum_buffer());
    }
  }
  static void load(State& state, const Source& entry, const torch::Tensor& parameter) {
    state.momentum_buffer(entry.tensor("momentum_buffer", parameter));
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
    entry.insert("step", torch::tensor(static_cast<float>(state.step())));  // as Python since 1.12
    entry.insert("exp_avg", state.exp_avg());
    entry.insert("exp_avg_sq", state.exp_avg_sq());
    if (state.max_exp_avg_sq().defined()) entry.insert("max_exp_avg_sq", state.max_exp_avg_sq());
  }
  static void load(State& state, const Source& entry, const torch::Tensor& parameter) {
    const double step = entry.number("step");
    if (!(step >= 0 && step < 1e15)) entry.fail("has a \"step\" that is not a count");
    state.step(std::llround(step));
    state.exp_avg(entry.required("exp_avg", parameter));
    state.exp_avg_sq(entry.required("exp_avg_sq", parameter));
    state.max_exp_avg_sq(entry.tensor("max_exp_avg_sq", parameter));
  }
  static bool is_empty(const State&) { return false; }
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
  throw Error(
      "snapshots can hold the state of SGD, Adam and AdamW only; use one of them, or save "
      "without the optimizer");
}

std::unique_ptr<optim::OptimizerOptions> load_options(const optim::OptimizerOptions& current,
                                                      const Source& group) {
  if (group.flag("maximize")) group.fail("maximizes, which optimizers in C++ cannot");
  return with_kind_of(current, [&](auto kind) -> std::unique_ptr<optim::OptimizerOptions> {
    using Options = typename decltype(kind)::Options;
    auto options = std::make_unique<Options>(static_cast<const Options&>(current));
    kind.load(*options, group);
    return options;
  });
}

std::unique_ptr<optim::OptimizerParamState> load_state(const optim::OptimizerOptions& options,
                                                       const Source& entry,
                                                       const torch::Tensor& parameter) {
  return with_kind_of(options, [&](auto kind) -> std::unique_ptr<optim::OptimizerParamState> {
    auto state = std::make_unique<typename decltype(kind)::State>();
    kind.load(*state, entry, parameter);
    if (kind.is_empty(*state)) return nullptr;
    return state;
  });
}

struct LoadedGroup {
  std::unique_ptr<optim::OptimizerOptions> options;
  std::vector<std::unique_ptr<optim::OptimizerParamState>> states;  // null: none yet
};

LoadedGroup load_group(const optim::OptimizerParamGroup& current,
                       const c10::IValue& saved,
                       const Source& states,
                       const std::string& path) {
  const Source group(saved, path);
  const c10::IValue indices = group.get("params");
  if (!indices.isList() || indices.toListRef().size() != current.params().size()) {
    group.fail(text("does not list ", current.params().size(), " parameters"));
  }
  LoadedGroup loaded{load_options(current.options(), group), {}};
  for (std::size_t i = 0; i < current.params().size(); ++i) {
    const c10::IValue& index = indices.toListRef()[i];
    if (!index.isInt()) group.fail("has a parameter that is not an index");
    const auto entry = states.find(index);
    loaded.states.push_back(entry ? load_state(current.options(),
                                               Source(*entry, text("state[", index.toInt(), "]")),
                                               current.params()[i])
                                  : nullptr);
  }
  return loaded;
}

}  // namespace

c10::IValue optimizer_state(const optim::Optimizer& optimizer) {
  Dict states = make_dict();
  c10::impl::GenericList groups(c10::AnyType::get());
  std::int64_t index = 0;
  for (const auto& group : optimizer.param_groups()) {
    with_kind_of(group.options(), [&](auto kind) {
      using Algorithm = decltype(kind);
      Dict saved = make_dict();
      kind.save(static_cast<const typename Algorithm::Options&>(group.options()), saved);
      insert_python_defaults(saved);
      c10::impl::GenericList indices(c10::AnyType::get());
      for (const auto& parameter : group.params()) {
        const auto found = optimizer.state().find(compat::state_key(optimizer, parameter));
        if (found != optimizer.state().end()) {
          Dict entry = make_dict();
          kind.save(static_cast<const typename Algorithm::State&>(*found->second), entry);
          states.insert(index, entry);
        }
        indices.push_back(index++);
      }
      saved.insert("params", indices);
      groups.push_back(saved);
    });
  }
  Dict root = make_dict();
  root.insert("state", states);
  root.insert("param_groups", groups);
  return root;
}

void load_optimizer_state(optim::Optimizer& optimizer, const c10::IValue& state) {
  const Source root(state, "it");
  const Source states(root.get("state"), "\"state\"");
  const c10::IValue groups = root.get("param_groups");
  auto& current = optimizer.param_groups();
  if (!groups.isList() || groups.toListRef().size() != current.size()) {
    root.fail(text("does not have ", current.size(), " groups of parameters"));
  }
  std::vector<LoadedGroup> loaded;
  for (std::size_t i = 0; i < current.size(); ++i) {
    loaded.push_back(
        load_group(current[i], groups.toListRef()[i], states, text("param_groups[", i, "]")));
  }
  for (std::size_t i = 0; i < current.size(); ++i) {
    current[i].set_options(std::move(loaded[i].options));
    for (std::size_t j = 0; j < current[i].params().size(); ++j) {
      const auto key = compat::state_key(optimizer, current[i].params()[j]);
      optimizer.state().erase(key);
      if (loaded[i].states[j]) optimizer.state()[key] = std::move(loaded[i].states[j]);
    }
  }
}

}  // namespace ddprun::worker
