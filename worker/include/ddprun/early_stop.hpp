// Ends a training that makes no progress any more.
#pragma once

#include "ddprun/callbacks.hpp"

#include <cstdint>
#include <string>

namespace ddprun::worker {

struct EarlyStopOptions {
  Better better = Better::lower;
  std::int64_t patience = 3;  ///< Epochs without a better value, at least 1.
  double change_min = 0;      ///< A value is better if it is by more than this.
};

/// Ends the training after the epoch in which `metric` was not better for `patience` epochs, as
/// Lightning's EarlyStopping. A NaN is never better. Restarts remember value and epochs.
/// A trainer has one for each metric. Throws Error as EpochReport::value().
class EarlyStop : public Callback {
 public:
  /// Throws Error for a patience below 1 or a change_min below 0.
  explicit EarlyStop(std::string metric, const EarlyStopOptions& options = {});
  [[nodiscard]] std::string metric() const override { return metric_; }
  /// Ends a training that had ended so before this start, without a step.
  void begin(Session& session) override;
  void finish_epoch(Session& session, const EpochReport& report) override;

 private:
  std::string metric_;
  EarlyStopOptions options_;
};

}  // namespace ddprun::worker
