// A data set whose inputs are transformed as they are read.
#pragma once

#include "ddprun/data_set.hpp"
#include "ddprun/image_transforms.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <utility>

namespace ddprun::worker {

/// A DataSet: the samples of `data`, with `transform` applied to each input. It draws after the
/// data have. The transform is called by several threads at once, and must not change its argument
/// where the data set shares its tensors, as TensorData does.
template <DataSet Data>
class TransformedData {
 public:
  TransformedData(Data data, Transform transform)
      : data_(std::move(data)), transform_(std::move(transform)) {}

  [[nodiscard]] std::int64_t size() const { return data_.size(); }
  [[nodiscard]] Sample get(std::int64_t index, torch::Generator& draws) const {
    Sample sample = data_.get(index, draws);
    sample.input = transform_(sample.input, draws);
    return sample;
  }

 private:
  Data data_;
  Transform transform_;
};

}  // namespace ddprun::worker
