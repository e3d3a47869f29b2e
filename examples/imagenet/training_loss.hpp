// The course's curve for TensorBoard.
#pragma once

#include "ddprun/callback.hpp"
#include "ddprun/event_file.hpp"
#include "ddprun/mean.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <utility>

namespace ddprun::examples {

/// `training_loss`: a point after every `steps_count` steps, the mean of their losses on all ranks.
class TrainingLoss : public worker::Callback {
 public:
  TrainingLoss(std::filesystem::path folder, std::int64_t steps_count)
      : folder_(std::move(folder)), steps_count_(steps_count) {}

  void begin(worker::Session& session) override {
    if (session.is_rank_0()) events_ = worker::EventFile(folder_, session.position().step + 1);
  }

  void finish_step(worker::Session& session,
                   const worker::Step& step,
                   const torch::Tensor& loss) override {
    losses_.add(loss);
    const std::int64_t steps_done = step.position.step + 1;
    if (steps_done % steps_count_ != 0) return;
    events_.scalar("training_loss", losses_.over(session.group()), steps_done);
  }

 private:
  std::filesystem::path folder_;
  std::int64_t steps_count_;
  worker::EventFile events_;
  worker::Mean losses_;
};

}  // namespace ddprun::examples
