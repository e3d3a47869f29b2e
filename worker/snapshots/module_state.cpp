#include "ddprun/module_state.hpp"

#include "ddprun/error.hpp"

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

void load_state_dict(const torch::nn::Module& module, const StateDict& state) {
  constexpr const char* hint = "; the snapshot is of another model, use its own program or path";
  StateDict current = state_dict(module);
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
      throw Error(text("the model has no parameter ", named.key(), ", the snapshot has", hint));
    }
  }
  const torch::NoGradGuard no_grad;
  for (auto& named : current) named.value().copy_(state[named.key()]);
}

c10::IValue to_value(const StateDict& state) {
  c10::Dict<std::string, at::Tensor> dict;
  for (const auto& named : state) dict.insert(named.key(), named.value().detach().cpu());
  return dict;
}

}  // namespace ddprun::worker
