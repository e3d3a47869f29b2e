// TensorBoard's values: messages of the type Summary.Value, field by field as Python's
// SummaryWriter fills them (tensorboard/compat/proto/summary.proto and plugins/hparams/*.proto).
#pragma once

#include "ddprun/event_file.hpp"
#include "worker/telemetry/histogram.hpp"
#include "worker/telemetry/png.hpp"
#include "worker/telemetry/protobuf.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ddprun::worker {

[[nodiscard]] Message scalar_value(std::string_view tag, double value);
[[nodiscard]] Message image_value(std::string_view tag,
                                  const PictureShape& shape,
                                  std::string_view png_file);
[[nodiscard]] Message histogram_value(std::string_view tag, const Histogram& histogram);
[[nodiscard]] Message text_value(std::string_view tag, std::string_view markdown);

/// The three values of a run's hyperparameters: which ones and which metrics there are, what this
/// run has, and that it has ended well.
[[nodiscard]] Message experiment_value(const HyperParameters& parameters,
                                       const std::vector<std::string>& metrics);
[[nodiscard]] Message session_start_value(const HyperParameters& parameters);
[[nodiscard]] Message session_end_value();

}  // namespace ddprun::worker
