#include "ddprun/tensor_data.hpp"

#include "ddprun/error.hpp"

#include <utility>

namespace ddprun::worker {

TensorData::TensorData(torch::Tensor inputs, torch::Tensor targets)
    : inputs_(std::move(inputs)), targets_(std::move(targets)) {
  if (inputs_.dim() == 0 || targets_.dim() == 0 || inputs_.size(0) != targets_.size(0) ||
      inputs_.size(0) == 0) {
    throw Error(
        text("inputs of shape ",
             inputs_.sizes(),
             " and targets of shape ",
             targets_.sizes(),
             " are no data set: the first dimension of both must be the number of samples"));
  }
}

Sample TensorData::get(std::int64_t index, torch::Generator& /*draws*/) const {
  return {.input = inputs_[index], .target = targets_[index]};
}

Batch TensorData::batch(const torch::Tensor& samples) const {
  return {.inputs = inputs_.index_select(0, samples), .targets = targets_.index_select(0, samples)};
}

}  // namespace ddprun::worker
