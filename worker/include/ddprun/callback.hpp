// What a Trainer calls in the course of a training.
#pragma once

#include "ddprun/session.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace ddprun::worker {

/// What is known at the end of an epoch, the same on all ranks.
struct EpochReport {
  std::int64_t epoch;  ///< From 0.
  std::int64_t steps;  ///< Finished since the training began, with this epoch's last one.
  /// Means over all ranks: "train/loss" and what training_step() has added, in the steps of this
  /// start; "validation/..." what validation_step() has, in epochs with a validation.
  std::map<std::string, double> metrics;

  /// One of them; nothing for one of a validation where there was none. Throws Error if there is no
  /// such metric.
  [[nodiscard]] std::optional<double> value(const std::string& metric) const;
};

/// All ranks call all of it, in the same order; so what is collective may be called here, on all
/// ranks or on none. An exception ends the training.
class Callback {
 public:
  Callback() = default;
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  virtual ~Callback() = default;

  /// The metric that it cannot do without, such as "validation/loss"; empty: none.
  [[nodiscard]] virtual std::string metric() const { return {}; }

  /// The snapshot is loaded, and the first step comes next: Session::position().
  virtual void begin(Session& /*session*/) {}
  /// A step has changed the parameters. `loss` is that of this rank, without a graph.
  virtual void finish_step(Session& /*session*/,
                           const Step& /*step*/,
                           const torch::Tensor& /*loss*/) {}
  /// After the last step of an epoch and its validation, before it is saved.
  virtual void finish_epoch(Session& /*session*/, const EpochReport& /*report*/) {}
};

}  // namespace ddprun::worker
