#include "ddprun/evaluation.hpp"

#include "ddprun/error.hpp"

#include <algorithm>

namespace ddprun::worker {

EvaluationBatches::EvaluationBatches(const std::shared_ptr<torch::nn::Module>& module,
                                     const ProcessGroup& group,
                                     torch::Device device,
                                     std::int64_t samples_count,
                                     std::int64_t batch_size) {
  if (batch_size < 1 || samples_count < 0) {
    throw Error(text("an evaluation of ",
                     samples_count,
                     " samples in batches of ",
                     batch_size,
                     " is not possible; a batch needs a sample"));
  }
  const auto mine = torch::arange(group.rank(),
                                  std::max<std::int64_t>(samples_count, group.rank()),
                                  group.size(),
                                  torch::kLong);
  if (mine.numel() > 0) batches_ = mine.to(device).split(batch_size);
  for (const auto& each : module->modules()) modes_.emplace_back(each, each->is_training());
  module->eval();
}

/// From the outside to the inside, since train() changes all that is inside.
EvaluationBatches::~EvaluationBatches() {
  for (const auto& [module, was_training] : modes_) module->train(was_training);
}

}  // namespace ddprun::worker
