#include "ddprun/module_state.hpp"

#include "ddprun/error.hpp"
#include "worker/pt/shown.hpp"
#include "worker/snapshots/copied_tensors.hpp"

#include <string_view>

namespace ddprun::worker {
namespace {

/// How many there are, and the first of them.
class NameList {
 public:
  void add(const std::string& name) {
    if (count_ < shown_max) names_ += (count_ == 0 ? "" : ", ") + name;
    ++count_;
  }
  /// "it has 7 unknown (weight, bias, step, ...)". Empty if the list is.
  [[nodiscard]] std::string told(const char* before, const char* after) const {
    if (count_ == 0) return {};
    return text(before, count_, after, " (", names_, count_ > shown_max ? ", ...)" : ")");
  }

 private:
  static constexpr std::size_t shown_max = 3;
  std::size_t count_ = 0;
  std::string names_;
};

}  // namespace

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

std::string misfit(const torch::nn::Module& module, const StateDict& state) {
  NameList missing;
  NameList unlike;
  NameList unknown;
  const StateDict current = state_dict(module);
  for (const auto& named : current) {
    const torch::Tensor* saved = state.find(named.key());
    if (saved == nullptr) {
      missing.add(named.key());
    } else if (saved->sizes() != named.value().sizes()) {
      unlike.add(
          text(named.key(), " is ", saved->sizes(), ", the model's ", named.value().sizes()));
    }
  }
  for (const auto& named : state) {
    if (!current.contains(named.key())) unknown.add(shown(named.key()));
  }
  std::string parts = missing.told("it lacks ", "");
  for (const std::string& part :
       {unknown.told("it has ", " unknown"), unlike.told("it has ", " of another shape")}) {
    parts += (parts.empty() || part.empty() ? "" : ", ") + part;
  }
  return parts;
}

void require_fit(const torch::nn::Module& module, const StateDict& state) {
  const std::string what = misfit(module, state);
  if (what.empty()) return;
  throw Error(text("the saved state does not fit the model: ",
                   what,
                   "; it is of another model, use its own program or path"));
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
