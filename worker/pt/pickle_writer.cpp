#include "worker/pt/pickle_writer.hpp"

#include "ddprun/error.hpp"

#include <torch/csrc/jit/serialization/pickler.h>

#include <unordered_map>

namespace ddprun::worker {
namespace {

using Types = std::unordered_map<const c10::StorageImpl*, at::ScalarType>;

/// LibTorch's pickler gives a storage the type of the first tensor that has it, also where others
/// have another one, and so would write those wrong.
void require_one_type(const at::Tensor& tensor, Types& types) {
  if (!tensor.defined() || !tensor.has_storage()) return;
  const at::ScalarType type = tensor.scalar_type();
  const auto [found, is_new] = types.emplace(tensor.storage().unsafeGetStorageImpl(), type);
  if (is_new || found->second == type) return;
  throw Error(text("it would hold tensors of ",
                   found->second,
                   " and of ",
                   type,
                   " in the same memory; clone one of them before"));
}

void require_one_type(const c10::IValue& value, Types& types) {
  if (value.isTensor()) return require_one_type(value.toTensor(), types);
  if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements()) require_one_type(item, types);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) require_one_type(item, types);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) require_one_type(entry.value(), types);
  }
}

}  // namespace

Pickled write_pickle(const c10::IValue& value) {
  Types types;
  require_one_type(value, types);
  Pickled result;
  // Tagged aggregates would name TorchScript types, which Python's weights_only loading refuses.
  torch::jit::Pickler pickler(
      [&](const char* bytes, std::size_t count) { result.pickle.append(bytes, count); },
      nullptr,
      nullptr,
      nullptr,
      nullptr,
      /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(value);
  pickler.stop();
  result.tensors = pickler.tensorData();
  return result;
}

}  // namespace ddprun::worker
