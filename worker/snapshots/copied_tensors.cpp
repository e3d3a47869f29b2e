#include "worker/snapshots/copied_tensors.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace ddprun::worker {

namespace {

bool has_layout(const torch::Tensor& copy, const torch::Tensor& source) {
  return copy.defined() && copy.scalar_type() == source.scalar_type() &&
         copy.sizes() == source.sizes() && copy.strides() == source.strides();
}

/// Makes `copy` one of `tensor`, in the memory that it has if its layout fits.
void copy_to(torch::Tensor& copy, const torch::Tensor& tensor) {
  const torch::Tensor source = tensor.detach();
  const bool is_plain = source.layout() == torch::kStrided && source.is_non_overlapping_and_dense();
  if (!source.device().is_cpu()) {
    copy = source.cpu();
  } else if (!is_plain) {
    copy = source.clone();  // maybe by LibTorch's threads
  } else {
    if (!has_layout(copy, source)) {
      copy = torch::empty_strided(source.sizes(), source.strides(), source.options());
    }
    if (source.nbytes() > 0) std::memcpy(copy.data_ptr(), source.data_ptr(), source.nbytes());
  }
}

}  // namespace

c10::IValue with_tensors(const c10::IValue& value,
                         const std::function<torch::Tensor(const torch::Tensor&)>& change) {
  if (value.isTensor()) return change(value.toTensor());
  if (value.isGenericDict()) {
    const auto source = value.toGenericDict();
    c10::impl::GenericDict result(source.keyType(), source.valueType());
    for (const auto& entry : source) {
      result.insert(entry.key(), with_tensors(entry.value(), change));
    }
    return result;
  }
  if (value.isList()) {
    c10::impl::GenericList result(c10::AnyType::get());
    for (const c10::IValue& item : value.toListRef()) result.push_back(with_tensors(item, change));
    return result;
  }
  if (value.isTuple()) {
    std::vector<c10::IValue> items;
    for (const c10::IValue& item : value.toTupleRef().elements()) {
      items.push_back(with_tensors(item, change));
    }
    return c10::ivalue::Tuple::create(std::move(items));
  }
  return value;
}

torch::Tensor on_cpu(const torch::Tensor& tensor) {
  const torch::Tensor here = tensor.detach().cpu();
  const bool is_channels_last = here.suggest_memory_format() == torch::MemoryFormat::ChannelsLast;
  return is_channels_last ? here.contiguous() : here;
}

torch::Tensor copied(const torch::Tensor& tensor) {
  torch::Tensor copy;
  copy_to(copy, tensor);
  return copy;
}

StateDict copied(const StateDict& state) {
  StateDict copies;
  for (const auto& named : state) copies.insert(named.key(), copied(named.value()));
  return copies;
}

c10::IValue copied(const c10::IValue& value) {
  return with_tensors(value, [](const torch::Tensor& tensor) { return copied(tensor); });
}

torch::Tensor KeptCopies::copied(const torch::Tensor& tensor) {
  if (used_count_ == kept_.size()) kept_.emplace_back();
  torch::Tensor& kept = kept_[used_count_++];
  copy_to(kept, tensor);
  return kept;
}

}  // namespace ddprun::worker
