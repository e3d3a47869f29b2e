#include "worker/parallel/compressed_reduction.hpp"

#include "ddprun/error.hpp"

#include <utility>
#include <vector>

namespace ddprun::worker {

CompressedReduction::CompressedReduction(const ProcessGroup& group,
                                         torch::ScalarType type,
                                         torch::Device device,
                                         std::shared_ptr<const int> divisor)
    : group_(group), type_(type), divisor_(std::move(divisor)) {
  if (type != torch::kHalf && type != torch::kBFloat16) {
    throw Error(text("gradients cannot be compressed to ", type, "; use kHalf or kBFloat16"));
  }
  try {
    group.all_reduce_sum(torch::zeros({1}, torch::TensorOptions(type).device(device)));
  } catch (const std::exception& error) {
    throw Error(text("the ranks cannot add up gradients of ",
                     type,
                     " on ",
                     device.type(),
                     ", by which they were to be compressed: ",
                     error.what(),
                     "; use kHalf, or a newer LibTorch"));
  }
}

c10::intrusive_ptr<c10::ivalue::Future> CompressedReduction::runHook(c10d::GradBucket& bucket) {
  const torch::Tensor gradients = bucket.getBuffer();
  const torch::Tensor compressed = gradients.to(type_).div_(*divisor_);
  std::vector<torch::Tensor> tensors{compressed};
  const auto reduced = group_.native()->allreduce(tensors)->getFuture();
  return reduced->then(
      [gradients, compressed](c10::ivalue::Future& done) {
        static_cast<void>(done.value());  // throws what has failed
        gradients.copy_(compressed);
        return c10::IValue(gradients);
      },
      c10::TensorType::get());
}

}  // namespace ddprun::worker
