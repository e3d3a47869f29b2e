#include "worker/snapshots/sharded_state.hpp"

#include "worker/pt/pickle_writer.hpp"
#include "worker/pt/storage_view.hpp"
#include "worker/snapshots/copied_tensors.hpp"
#include "worker/snapshots/shard_plan.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace ddprun::worker {
namespace {

/// Files have the elements of such a tensor in their own order; see on_cpu().
bool is_reordered(const torch::Tensor& tensor) {
  return tensor.suggest_memory_format() == torch::MemoryFormat::ChannelsLast &&
         !tensor.is_contiguous();
}

/// All bytes of its storage, on its device, as a file has them.
torch::Tensor bytes_of(const torch::Tensor& tensor) {
  const torch::Tensor source = is_reordered(tensor) ? tensor.contiguous() : tensor;
  const auto bytes = static_cast<std::int64_t>(source.storage().nbytes());
  return torch::empty({0}, source.options().dtype(torch::kByte))
      .set_(source.storage(), 0, {bytes}, {1});
}

/// Tensors that have the layout which a file gives to others, and no data.
class Outlines {
 public:
  torch::Tensor of(const torch::Tensor& tensor) {
    const torch::Tensor source = tensor.detach();
    if (is_reordered(source)) {
      const c10::Storage storage = outline(source, source.nbytes());
      return view_of(storage,
                     source.scalar_type(),
                     0,
                     source.sizes().vec(),
                     torch::empty(source.sizes(), torch::kMeta).strides().vec());
    }
    const c10::StorageImpl* impl = source.storage().unsafeGetStorageImpl();
    auto known = shared_.find(impl);
    if (known == shared_.end()) {
      known = shared_.emplace(impl, outline(source, source.storage().nbytes())).first;
    }
    return view_of(known->second,
                   source.scalar_type(),
                   source.storage_offset(),
                   source.sizes().vec(),
                   source.strides().vec());
  }

  /// The tensor whose storage `outline` stands for.
  [[nodiscard]] const torch::Tensor& source_of(const torch::Tensor& outline) const {
    return sources_.at(outline.storage().unsafeGetStorageImpl());
  }

 private:
  c10::Storage outline(const torch::Tensor& source, std::size_t bytes) {
    c10::Storage storage(
        c10::Storage::use_byte_size_t(), bytes, at::DataPtr(nullptr, at::kCPU), nullptr, false);
    sources_.emplace(storage.unsafeGetStorageImpl(), source);
    return storage;
  }

  std::unordered_map<const c10::StorageImpl*, c10::Storage> shared_;  // by the source's
  std::unordered_map<const c10::StorageImpl*, torch::Tensor> sources_;
};

ParameterSpan span_of(const std::string& name, const torch::Tensor& outline) {
  std::int64_t elements = outline.numel() == 0 ? 0 : 1;
  for (std::int64_t i = 0; elements > 0 && i < outline.dim(); ++i) {
    elements += (outline.size(i) - 1) * outline.stride(i);
  }
  const auto element_bytes = static_cast<std::int64_t>(outline.element_size());
  const std::int64_t begin = outline.storage_offset() * element_bytes;
  return {name, begin, begin + elements * element_bytes};
}

}  // namespace

ShardedState sharded_state(const StateDict& parameters, const c10::IValue& optimizer_state) {
  Outlines outlines;
  std::unordered_map<const c10::StorageImpl*, std::vector<ParameterSpan>> spans;
  c10::Dict<std::string, at::Tensor> model;
  for (const auto& named : parameters) {
    const torch::Tensor outline = outlines.of(named.value());
    spans[outline.storage().unsafeGetStorageImpl()].push_back(span_of(named.key(), outline));
    model.insert(named.key(), outline);
  }
  c10::impl::GenericDict root(c10::StringType::get(), c10::AnyType::get());
  root.insert("MODEL_STATE", model);
  root.insert("OPTIMIZER_STATE", with_tensors(optimizer_state, [&](const torch::Tensor& tensor) {
                return outlines.of(tensor);
              }));
  Pickled pickled = write_pickle(root);
  ShardedState state;
  state.pickle = std::move(pickled.pickle);
  for (const torch::Tensor& outline : pickled.tensors) {
    state.storages_bytes.push_back(static_cast<std::int64_t>(outline.storage().nbytes()));
    state.tensors.push_back(outlines.source_of(outline));
    state.parameters.push_back(std::move(spans[outline.storage().unsafeGetStorageImpl()]));
  }
  return state;
}

torch::Tensor copy_shard(const ShardedState& state,
                         int shard,
                         int shards_count,
                         torch::Tensor kept) {
  const torch::NoGradGuard no_grad;
  const ByteRange range = shard_range(stream_bytes(state.storages_bytes), shard, shards_count);
  if (!kept.defined() || kept.numel() != range.size()) {
    kept = torch::zeros({range.size()}, torch::kByte);
  }
  for (const StoragePart& part : parts_in(range, state.storages_bytes)) {
    kept.narrow(0, part.position, part.bytes)
        .copy_(bytes_of(state.tensors[part.storage]).narrow(0, part.offset, part.bytes));
  }
  return kept;
}

StateDict parameters_in(const torch::Tensor& copy,
                        const ShardedState& state,
                        int shard,
                        int shards_count) {
  StateDict rows;
  const ByteRange range = shard_range(stream_bytes(state.storages_bytes), shard, shards_count);
  for (const StoragePart& part : parts_in(range, state.storages_bytes)) {
    const auto type = state.tensors[part.storage].scalar_type();
    const auto element_bytes = static_cast<std::int64_t>(c10::elementSize(type));
    for (const ParameterSpan& span : state.parameters[part.storage]) {
      const std::int64_t begin = std::max(span.begin, part.offset);
      const std::int64_t end = std::min(span.end, part.offset + part.bytes);
      if (begin >= end) continue;
      const std::int64_t position = copy.storage_offset() + part.position + begin - part.offset;
      rows.insert(span.name,
                  view_of(copy.storage(),
                          type,
                          position / element_bytes,
                          {(end - begin) / element_bytes},
                          {1}));
    }
  }
  return rows;
}

}  // namespace ddprun::worker
