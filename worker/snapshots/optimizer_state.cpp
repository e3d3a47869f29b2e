#include "ddprun/optimizer_state.hpp"

#include "ddprun/error.hpp"
#include "worker/snapshots/optimizer_kinds.hpp"
#include "worker/torch_compat.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

namespace optim = torch::optim;
using optimizer_kinds::Dict;
using optimizer_kinds::Source;
using optimizer_kinds::with_kind_of;

/// Options that Python's optimizers expect in a group and C++ lacks.
void insert_python_defaults(Dict& group) {
  group.insert("maximize", false);
  group.insert("foreach", c10::IValue());
  group.insert("differentiable", false);
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

std::unique_ptr<optim::OptimizerParamState> load_state(const Source& entry,
                                                       const optimizer_kinds::Place& at) {
  return with_kind_of(at.options, [&](auto kind) -> std::unique_ptr<optim::OptimizerParamState> {
    auto state = std::make_unique<typename decltype(kind)::State>();
    kind.load(*state, entry, at);
    if (kind.is_empty(*state)) return nullptr;
    return state;
  });
}

/// Whether a parameter of an optimizer with these options cannot be without a state.
bool is_state_required(const optim::OptimizerOptions& options) {
  return with_kind_of(options, [](auto kind) {
    return requires {
      kind.is_required;
    };
  });
}

struct LoadedGroup {
  std::unique_ptr<optim::OptimizerOptions> options;
  std::vector<std::unique_ptr<optim::OptimizerParamState>> states;  // null: none yet
};

LoadedGroup load_group(const optim::OptimizerParamGroup& current,
                       const c10::IValue& saved,
                       const Source& states,
                       const std::string& path,
                       StateTensors tensors) {
  const Source group(saved, path, tensors);
  const c10::IValue indices = group.get("params");
  if (!indices.isList() || indices.toListRef().size() != current.params().size()) {
    group.fail(text("does not list ", current.params().size(), " parameters"));
  }
  std::int64_t elements = 0;
  for (const torch::Tensor& parameter : current.params()) elements += parameter.numel();
  LoadedGroup loaded{load_options(current.options(), group), {}};
  for (std::size_t i = 0; i < current.params().size(); ++i) {
    const c10::IValue& index = indices.toListRef()[i];
    if (!index.isInt()) group.fail("has a parameter that is not an index");
    const auto entry = states.find(index);
    if (!entry && is_state_required(current.options())) {
      group.fail(text("has no state of parameter ", index.toInt()));
    }
    loaded.states.push_back(
        entry ? load_state(Source(*entry, text("state[", index.toInt(), "]"), tensors),
                           {current.params()[i], elements, *loaded.options})
              : nullptr);
  }
  return loaded;
}

void load_all(optim::Optimizer& optimizer, const c10::IValue& state, StateTensors tensors) {
  const Source root(state, "it", tensors);
  const Source states(root.get("state"), "\"state\"", tensors);
  const c10::IValue groups = root.get("param_groups");
  auto& current = optimizer.param_groups();
  if (!groups.isList() || groups.toListRef().size() != current.size()) {
    root.fail(text("does not have ", current.size(), " groups of parameters"));
  }
  std::vector<LoadedGroup> loaded;
  for (std::size_t i = 0; i < current.size(); ++i) {
    loaded.push_back(load_group(
        current[i], groups.toListRef()[i], states, text("param_groups[", i, "]"), tensors));
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

}  // namespace

c10::IValue optimizer_state(const optim::Optimizer& optimizer) {
  Dict states = make_optimizer_dict();
  c10::impl::GenericList groups(c10::AnyType::get());
  std::int64_t index = 0;
  for (const auto& group : optimizer.param_groups()) {
    with_kind_of(group.options(), [&](auto kind) {
      using Algorithm = decltype(kind);
      Dict saved = make_optimizer_dict();
      kind.save(static_cast<const typename Algorithm::Options&>(group.options()), saved);
      insert_python_defaults(saved);
      c10::impl::GenericList indices(c10::AnyType::get());
      for (const auto& parameter : group.params()) {
        const auto found = optimizer.state().find(compat::state_key(optimizer, parameter));
        if (found != optimizer.state().end()) {
          Dict entry = make_optimizer_dict();
          kind.save(static_cast<const typename Algorithm::State&>(*found->second), entry);
          states.insert(index, entry);
        }
        indices.push_back(index++);
      }
      saved.insert("params", indices);
      groups.push_back(saved);
    });
  }
  Dict root = make_optimizer_dict();
  root.insert("state", states);
  root.insert("param_groups", groups);
  return root;
}

void load_optimizer_state(optim::Optimizer& optimizer, const c10::IValue& state) {
  load_all(optimizer, state, StateTensors::copied);
}

void adopt_optimizer_state(optim::Optimizer& optimizer, c10::IValue state) {
  load_all(optimizer, state, StateTensors::adopted);
}

}  // namespace ddprun::worker
