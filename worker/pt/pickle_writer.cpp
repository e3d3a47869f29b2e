#include "worker/pt/pickle_writer.hpp"

#include <torch/csrc/jit/serialization/pickler.h>

namespace ddprun::worker {

Pickled write_pickle(const c10::IValue& value) {
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
