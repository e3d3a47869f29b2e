// Gradients that travel in half the bytes: as Python's fp16_compress_hook and bf16_compress_hook.
#pragma once

#include "ddprun/process_group.hpp"

#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/torch.h>

#include <memory>

namespace ddprun::worker {

/// Averages a bucket of gradients in `type`: each rank's part is converted and divided by
/// `divisor`, then added up. For c10d::Reducer::register_comm_hook().
class CompressedReduction : public c10d::CommHookInterface {
 public:
  /// Collective. Throws Error unless `type` is kHalf or kBFloat16, and the group can add it up on
  /// `device`.
  CompressedReduction(const ProcessGroup& group,
                      torch::ScalarType type,
                      torch::Device device,
                      std::shared_ptr<const int> divisor);

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override;
  torch::Tensor parseHookResult(const c10::IValue& result) override { return result.toTensor(); }

 private:
  ProcessGroup group_;
  torch::ScalarType type_;
  std::shared_ptr<const int> divisor_;
};

}  // namespace ddprun::worker
