// The records of TensorBoard's event files: TFRecord frames around messages of the type Event
// (tensorboard/compat/proto/event.proto).
#pragma once

#include "worker/telemetry/protobuf.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace ddprun::worker {

/// When an event is written, in seconds since 1970, and the training step that it belongs to.
struct EventTime {
  double seconds;
  std::int64_t step;
};

/// The first record of a file: its version, and who writes it.
[[nodiscard]] std::string version_record(double seconds);

/// The record that hides what older files of the folder have of `time.step` and later steps.
[[nodiscard]] std::string start_record(const EventTime& time);

/// The record of a Summary with this one Value; see summary.hpp.
[[nodiscard]] std::string summary_record(const EventTime& time, const Message& value);

/// CRC-32C (Castagnoli, RFC 3720), that of TFRecord.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

}  // namespace ddprun::worker
