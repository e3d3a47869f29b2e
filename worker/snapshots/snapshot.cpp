#include "ddprun/snapshot.hpp"

#include "ddprun/error.hpp"
#include "worker/snapshots/copied_tensors.hpp"
#include "worker/snapshots/entry_names.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

/// Each count's key and where it is. EPOCHS_RUN comes first, so that EPOCH overrules it when a file
/// has both.
template <typename AnySnapshot>
auto counts_of(AnySnapshot& snapshot) {
  auto& position = snapshot.position;
  return std::array{std::pair{entry::epochs_run, &position.epoch},
                    std::pair{entry::epoch, &position.epoch},
                    std::pair{entry::batch, &position.batch},
                    std::pair{entry::samples, &position.samples},
                    std::pair{entry::step, &position.step},
                    std::pair{entry::generation, &snapshot.generation},
                    std::pair{entry::world_size, &snapshot.world_size}};
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

void require_free_names(const SnapshotFields& fields) {
  for (const auto& field : fields) {
    if (!entry::is_reserved(field.first)) continue;
    throw Error(text("a user field of a snapshot cannot be called ",
                     field.first,
                     ", which is an entry of the runtime's own; rename it"));
  }
}

c10::IValue to_value(const Snapshot& snapshot) {
  c10::impl::GenericDict root(c10::StringType::get(), c10::AnyType::get());
  root.insert(entry::model_state, to_value(snapshot.model_state));
  if (!snapshot.optimizer_state.isNone()) {
    root.insert(entry::optimizer_state, with_tensors(snapshot.optimizer_state, on_cpu));
  }
  if (!snapshot.scaler_state.isNone()) root.insert(entry::scaler_state, snapshot.scaler_state);
  if (!snapshot.shards.isNone()) root.insert(entry::shards, snapshot.shards);
  for (const auto& [key, count] : counts_of(snapshot)) root.insert(key, *count);
  if (!snapshot.gradient_order.empty()) {
    c10::impl::GenericList order(c10::AnyType::get());
    for (const std::int64_t index : snapshot.gradient_order) order.push_back(index);
    root.insert(entry::gradient_order, order);
  }
  require_free_names(snapshot.user_fields);
  for (const auto* fields : {&snapshot.user_fields, &snapshot.own_fields}) {
    for (const auto& [key, value] : *fields) root.insert(key, with_tensors(value, on_cpu));
  }
  return root;
}

Snapshot from_value(const c10::IValue& value) {
  if (!value.isGenericDict()) throw Error("it does not hold a dict");
  const auto root = value.toGenericDict();
  Snapshot snapshot;
  const auto model_state = find(root, entry::model_state);
  if (!model_state) throw Error("it has no MODEL_STATE");
  snapshot.is_foreign = !root.contains(entry::generation);
  // A model saved by this runtime may have a child that is really called "module".
  snapshot.model_state = to_state_dict(*model_state, "MODEL_STATE");
  if (snapshot.is_foreign) snapshot.model_state = without_ddp_prefix(snapshot.model_state);
  snapshot.optimizer_state = find(root, entry::optimizer_state).value_or(c10::IValue());
  snapshot.scaler_state = find(root, entry::scaler_state).value_or(c10::IValue());
  snapshot.shards = find(root, entry::shards).value_or(c10::IValue());
  for (const auto& [key, place] : counts_of(snapshot)) {
    const auto count = find(root, key);
    if (!count) continue;
    if (!is_count(*count)) throw Error(text(key, " is not a count"));
    *place = count->toInt();
  }
  if (const auto order = find(root, entry::gradient_order)) {
    snapshot.gradient_order = gradient_order_from(*order);
  }
  for (const auto& each : root) {
    if (!each.key().isString()) continue;
    const std::string& name = each.key().toStringRef();
    if (entry::is_own_field(name)) snapshot.own_fields[name] = each.value();
    if (!entry::is_reserved(name)) snapshot.user_fields[name] = each.value();
  }
  return snapshot;
}

}  // namespace ddprun::worker
