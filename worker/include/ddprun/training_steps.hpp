// The steps of a Session, as a range.
#pragma once

#include "ddprun/batch_loader.hpp"
#include "ddprun/position.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <iterator>
#include <memory>

namespace ddprun::worker {

class Session;

/// What one rank has to do in one step.
struct Step {
  Position position;      ///< Before it.
  torch::Tensor samples;  ///< (B,) int64 on the session's device: the indices of this rank's batch.
  Batch batch;            ///< What a BatchLoader has read of them; undefined without one.
  bool ends_epoch = false;  ///< No step of this epoch follows.
};

/// For one range-based for loop, on all ranks alike. Its body makes the step; what comes after is
/// done here, before the next one begins: the step is counted and told to ddprun, the ranks agree
/// whether to stop or to save, and rank 0 saves. A step that is left by `break` is not finished:
/// its parameters may have changed, its position has not. Use Session::end_after_step() to end
/// early.
///
/// Each step begins with generators that are a function of seed, step and rank, so that a restart
/// repeats what it draws. While this exists SIGTERM does not end the process: the job saves and
/// ends by Stopped, as StopRequest describes. However the loop is left, the save that is under way
/// ends first, so that SIGTERM, as ddprun sends it to those beside a rank that failed, does not
/// tear it.
class TrainingSteps {
 public:
  /// `loader` is null, or outlives this and is not used by anybody else meanwhile.
  TrainingSteps(Session& session, std::int64_t samples_count, BatchLoader* loader);
  TrainingSteps(const TrainingSteps&) = delete;
  TrainingSteps& operator=(const TrainingSteps&) = delete;
  ~TrainingSteps();

  class Iterator {
   public:
    explicit Iterator(TrainingSteps& steps) : steps_(&steps) {}
    const Step& operator*() const { return steps_->step_; }
    Iterator& operator++() {
      steps_->finish_step();
      return *this;
    }
    bool operator==(std::default_sentinel_t /*end*/) const { return steps_->is_over(); }

   private:
    TrainingSteps* steps_;
  };
  [[nodiscard]] Iterator begin() { return Iterator(*this); }
  [[nodiscard]] static std::default_sentinel_t end() { return {}; }

 private:
  struct State;

  [[nodiscard]] bool is_over() const;
  void begin_step();
  void begin_epoch();
  void finish_step();

  Session& session_;
  std::unique_ptr<State> state_;
  Step step_;
};

}  // namespace ddprun::worker
