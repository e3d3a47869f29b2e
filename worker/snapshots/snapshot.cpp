#include "ddprun/snapshot.hpp"

#include "ddprun/error.hpp"
#include "worker/snapshots/copied_tensors.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

/// Each count's key and where it is. EPOCHS_RUN comes first, so that EPOCH overrules it when a file
/// has both.
template <typename AnySnapshot>
auto counts_of(AnySnapshot& snapshot) {
  auto& position = snapshot.position;
  return std::array{std::pair{"EPOCHS_RUN", &position.epoch},
                    std::pair{"EPOCH", &position.epoch},
                    std::pair{"BATCH", &position.batch},
                    std::pair{"SAMPLES", &position.samples},
                    std::pair{"STEP", &position.step},
                    std::pair{"GENERATION", &snapshot.generation},
                    std::pair{"WORLD_SIZE", &snapshot.world_size}};
}

bool is_ours(std::string_view key) {
  static const Snapshot any;
  const auto counts = counts_of(any);
  static constexpr std::array states{
      "MODEL_STATE", "OPTIMIZER_STATE", "SCALER_STATE", "GRADIENT_ORDER", "SHARDS"};
  return std::find(states.begin(), states.end(), key) != states.end() ||
         std::any_of(
             counts.begin(), counts.end(), [&](const auto& each) { return each.first == key; });
}

bool is_count(const c10::IValue& value) {
  return value.isInt() && value.toInt() >= 0 && value.toInt() <= count_max;
}

std::vector<std::int64_t> gradient_order_from(const c10::IValue& value) {
  const auto is_order = [](const c10::IValue& list) {
    const auto items = list.toListRef();
    return std::all_of(items.begin(), items.end(), is_count);
  };
  if (!value.isList() || !is_order(value)) throw Error("GRADIENT_ORDER is not a list of counts");
  std::vector<std::int64_t> order;
  for (const c10::IValue& item : value.toListRef()) order.push_back(item.toInt());
  return order;
}

std::optional<c10::IValue> find(const c10::impl::GenericDict& dict, const char* key) {
  const auto found = dict.find(key);
  if (found == dict.end()) return std::nullopt;
  return found->value();
}

}  // namespace

c10::IValue to_value(const Snapshot& snapshot) {
  c10::impl::GenericDict root(c10::StringType::get(), c10::AnyType::get());
  root.insert("MODEL_STATE", to_value(snapshot.model_state));
  if (!snapshot.optimizer_state.isNone()) {
    root.insert("OPTIMIZER_STATE", with_tensors(snapshot.optimizer_state, on_cpu));
  }
  if (!snapshot.scaler_state.isNone()) root.insert("SCALER_STATE", snapshot.scaler_state);
  if (!snapshot.shards.isNone()) root.insert("SHARDS", snapshot.shards);
  for (const auto& [key, count] : counts_of(snapshot)) root.insert(key, *count);
  if (!snapshot.gradient_order.empty()) {
    c10::impl::GenericList order(c10::AnyType::get());
    for (const std::int64_t index : snapshot.gradient_order) order.push_back(index);
    root.insert("GRADIENT_ORDER", order);
  }
  for (const auto& [key, value] : snapshot.user_fields) {
    if (is_ours(key)) {
      throw Error(text("a user field of a snapshot cannot be called ", key, "; rename it"));
    }
    root.insert(key, with_tensors(value, on_cpu));
  }
  return root;
}

Snapshot from_value(const c10::IValue& value) {
  if (!value.isGenericDict()) throw Error("it does not hold a dict");
  const auto root = value.toGenericDict();
  Snapshot snapshot;
  const auto model_state = find(root, "MODEL_STATE");
  if (!model_state) throw Error("it has no MODEL_STATE");
  snapshot.is_foreign = !root.contains("GENERATION");
  // A model saved by this runtime may have a child that is really called "module".
  snapshot.model_state = to_state_dict(*model_state, "MODEL_STATE");
  if (snapshot.is_foreign) snapshot.model_state = without_ddp_prefix(snapshot.model_state);
  snapshot.optimizer_state = find(root, "OPTIMIZER_STATE").value_or(c10::IValue());
  snapshot.scaler_state = find(root, "SCALER_STATE").value_or(c10::IValue());
  snapshot.shards = find(root, "SHARDS").value_or(c10::IValue());
  for (const auto& [key, place] : counts_of(snapshot)) {
    const auto count = find(root, key);
    if (!count) continue;
    if (!is_count(*count)) throw Error(text(key, " is not a count"));
    *place = count->toInt();
  }
  if (const auto order = find(root, "GRADIENT_ORDER")) {
    snapshot.gradient_order = gradient_order_from(*order);
  }
  for (const auto& entry : root) {
    if (entry.key().isString() && !is_ours(entry.key().toStringRef())) {
      snapshot.user_fields[entry.key().toStringRef()] = entry.value();
    }
  }
  return snapshot;
}

}  // namespace ddprun::worker
