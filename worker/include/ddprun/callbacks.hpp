// Callbacks that most trainings use. What is told is told by rank 0.
#pragma once

#include "ddprun/callback.hpp"
#include "ddprun/event_file.hpp"
#include "ddprun/metrics_file.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

namespace ddprun::worker {

enum class Better { higher, lower };

/// Keeps the model of the best value of `metric` at Session::best_path(); see there. With `lower`
/// SCORE is the value with the other sign. A trainer has one. Throws Error as EpochReport::value().
class KeepBest : public Callback {
 public:
  explicit KeepBest(std::string metric, Better better = Better::higher);
  [[nodiscard]] std::string metric() const override { return metric_; }
  void finish_epoch(Session& session, const EpochReport& report) override;

 private:
  std::string metric_;
  Better better_;
};

/// The metrics of each epoch, and the learning rate as "lr", as TensorBoard's curves. The step of a
/// point is EpochReport::steps.
class Curves : public Callback {
 public:
  explicit Curves(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void begin(Session& session) override;
  void finish_epoch(Session& session, const EpochReport& report) override;

 private:
  std::filesystem::path folder_;
  EventFile events_;
};

/// The same as lines of a MetricsFile.
class MetricsLines : public Callback {
 public:
  explicit MetricsLines(std::filesystem::path path) : path_(std::move(path)) {}
  void begin(Session& session) override;
  void finish_epoch(Session& session, const EpochReport& report) override;

 private:
  std::filesystem::path path_;
  MetricsFile file_;
};

/// Says on standard error how far the training is: at most every `pause` how much of the epoch is
/// done, this rank's loss, for which it waits for a GPU, and the speed of all ranks together; and
/// the metrics of each epoch.
class ProgressLines : public Callback {
 public:
  /// `say` gets the lines. Default: to standard error.
  explicit ProgressLines(std::chrono::milliseconds pause = std::chrono::seconds(10),
                         std::function<void(const std::string& line)> say = {});
  void begin(Session& session) override;
  void finish_step(Session& session, const Step& step, const torch::Tensor& loss) override;
  void finish_epoch(Session& session, const EpochReport& report) override;

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::milliseconds pause_;
  std::function<void(const std::string& line)> say_;
  Clock::time_point told_at_;
  std::int64_t samples_untold_ = 0;
};

}  // namespace ddprun::worker
