// The batches of one rank in an evaluation by all ranks.
#pragma once

#include "ddprun/process_group.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ddprun::worker {

/// A range of (B,) int64 tensors on a device: of `samples_count` samples every rank gets its part,
/// each sample once, so that a rank may get none. While this exists nothing has gradients and the
/// module is in evaluation mode; afterwards each of its parts is in its former mode again. No batch
/// is collective.
///
///     Mean right;
///     for (const torch::Tensor& batch : session.evaluation(test.size(), 250)) {
///       right.add(net(test.inputs(batch)).argmax(1).eq(test.labels(batch)).sum(), batch.numel());
///     }
///     const double accuracy = right.over(session.group());
class EvaluationBatches {
 public:
  /// Throws Error unless batch_size is at least 1 and samples_count is not negative.
  EvaluationBatches(const std::shared_ptr<torch::nn::Module>& module,
                    const ProcessGroup& group,
                    torch::Device device,
                    std::int64_t samples_count,
                    std::int64_t batch_size);
  EvaluationBatches(const EvaluationBatches&) = delete;
  EvaluationBatches& operator=(const EvaluationBatches&) = delete;
  ~EvaluationBatches();

  [[nodiscard]] auto begin() const { return batches_.begin(); }
  [[nodiscard]] auto end() const { return batches_.end(); }

 private:
  torch::NoGradGuard no_grad_;
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> modes_;  // is_training()
  std::vector<torch::Tensor> batches_;
};

}  // namespace ddprun::worker
