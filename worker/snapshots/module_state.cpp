#include "ddprun/module_state.hpp"

#include "ddprun/error.hpp"
#include "worker/pt/shown.hpp"
#include "worker/snapshots/copied_tensors.hpp"

#include <string_view>

namespace ddprun::worker {

StateDict state_dict(const torch::nn::Module& module) {
  StateDict state;
  for (const auto& named : module.named_parameters()) {
    state.insert(named.key(), named.value().detach());
  }
  for (const auto& named : module.named_buffers()) {
    state.insert(named.key(), named.value().detach());
  }
  return state;
}

void require_fit(const torch::nn::Module& module, const StateDict& state) {
  constexpr const char* hint = "; the snapshot is of another model, use its own program or path";
  const StateDict current = state_dict(module);
  for (const auto& named : current) {
    const torch::Tensor* saved = state.find(named.key());
    if (saved == nullptr) {
      throw Error(text("the snapshot has no parameter ", named.key(), hint));
    }
    if (saved->sizes() != named.value().sizes()) {
      throw Error(text("parameter ",
                       named.key(),
                       " is ",
                       named.value().sizes(),
                       " in the model but ",
                       saved->sizes(),
                       " in the snapshot",
                       hint));
    }
  }
  for (const auto& named : state) {
    if (!current.contains(named.key())) {
      throw Error(
          text("the model has no parameter ", shown(named.key()), ", the snapshot has", hint));
    }
  }
}

void load_state_dict(const torch::nn::Module& module, const StateDict& state) {
  require_fit(module, state);
  const torch::NoGradGuard no_grad;
  for (auto& named : state_dict(module)) named.value().copy_(state[named.key()]);
}

c10::IValue to_value(const StateDict& state) {
  c10::Dict<std::string, at::Tensor> dict;
  for (const auto& named : state) dict.insert(named.key(), on_cpu(named.value()));
  return dict;
}

StateDict to_state_dict(const c10::IValue& value, const std::string& what) {
  if (!value.isGenericDict()) throw Error(text(what, " is not a dict"));
  StateDict state;
  for (const auto& entry : value.toGenericDict()) {
    if (!entry.key().isString() || !entry.value().isTensor()) {
      throw Error(text(what, " holds something else than names with tensors"));
    }
    state.insert(entry.key().toStringRef(), entry.value().toTensor());
  }
  return state;
}

StateDict without_ddp_prefix(const StateDict& state) {
  constexpr std::string_view prefix = "module.";
  StateDict stripped;
  for (const auto& named : state) {
    if (!named.key().starts_with(prefix)) return state;
    stripped.insert(named.key().substr(prefix.size()), named.value());
  }
  return stripped;
}

}  // namespace ddprun::worker
