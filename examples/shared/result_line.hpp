// How a training went, in one line at its end, which a tool can read.
#pragma once

#include "ddprun/callback.hpp"
#include "ddprun/mean.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace ddprun::examples {

/// A Trainer calls it; a loop over Session::steps() calls begin() and finish_step() itself.
class ResultLine : public worker::Callback {
 public:
  /// Training has begun, or goes on after what is not to count, such as a validation.
  void begin(worker::Session& session) override;
  void finish_step(worker::Session& session,
                   const worker::Step& step,
                   const torch::Tensor& loss) override;
  /// Takes "validation/accuracy" from the report, a share.
  void finish_epoch(worker::Session& session, const worker::EpochReport& report) override;

  /// The share of right guesses on the test data. Nothing until it is known.
  [[nodiscard]] const std::optional<double>& accuracy() const { return accuracy_; }
  void set_accuracy(double share) { accuracy_ = share; }

  /// Collective. Rank 0 says on standard output `result: epochs=4 steps=1564 loss=1.2345
  /// accuracy=61.20 images_per_s=812.5 seconds=246.3`. Epochs and steps are those since the
  /// training began, restarts included; the loss is the mean over all ranks in the last epoch of
  /// this start; the accuracy is in percent; images are those of all ranks, in the time of their
  /// training; seconds count from begin(). What is not known is `-`.
  void print(worker::Session& session);

 private:
  using Clock = std::chrono::steady_clock;
  void finish_part(worker::Session& session);

  std::optional<Clock::time_point> began_at_;
  Clock::time_point part_began_at_;
  std::chrono::duration<double> training_time_{0};
  std::int64_t samples_count_ = 0;
  bool part_is_open_ = false;
  worker::Mean losses_;
  std::optional<double> loss_;
  std::optional<double> accuracy_;
};

}  // namespace ddprun::examples
