// The order of training's steps, and when to save and to ask whether to stop: a function of the
// position alone, so that every rank decides the same.
#pragma once

#include "ddprun/distributed_sampler.hpp"
#include "ddprun/position.hpp"
#include "ddprun/session_options.hpp"

#include <cstdint>
#include <vector>

namespace ddprun::worker {

/// Pure.
class StepPlan {
 public:
  /// Of a rank among `world_size`, from `start` on. Throws Error naming an option that is too
  /// small, or if there are fewer samples than ranks.
  StepPlan(const SessionOptions& options,
           const DistributedSampler& sampler,
           int world_size,
           const Position& start);

  /// Where the next step is; behind the last one when training is over.
  [[nodiscard]] const Position& position() const { return position_; }
  [[nodiscard]] bool is_over() const {
    return position_.epoch >= options_.epochs ||
           (options_.steps_max > 0 && position_.step >= options_.steps_max);
  }

  /// This rank's samples in this epoch, from the first step on that this plan made there.
  [[nodiscard]] const std::vector<std::int64_t>& samples() const { return samples_; }
  /// The next step's are `size()` of those, from `begin()` on.
  [[nodiscard]] std::int64_t begin() const { return begin_; }
  [[nodiscard]] std::int64_t size() const;
  /// Whether the next step is its epoch's last.
  [[nodiscard]] bool ends_epoch() const;

  struct Finished {
    bool ends_epoch;
    bool saves;
    bool asks;  ///< Whether to end or to save.
  };
  /// Goes on behind the next step.
  Finished finish_step();

 private:
  void begin_epoch();

  SessionOptions options_;
  DistributedSampler sampler_;
  int world_size_;
  Position position_;
  std::vector<std::int64_t> samples_;
  std::int64_t begin_ = 0;
};

}  // namespace ddprun::worker
