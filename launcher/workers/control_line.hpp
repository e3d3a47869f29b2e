// The lines between a worker and its agent over DDPRUN_CONTROL_FD; ddprun-protocol(7) describes
// them. A worker tells of its steps, metrics and snapshots, and its agent asks for a snapshot or an
// end. Pure.
#pragma once

#include "rendezvous/units.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ddprun {

constexpr std::size_t control_line_bytes_max = 256;  ///< With its newline.

/// The worker speaks this version: its first line.
struct ControlHello {
  friend bool operator==(const ControlHello&, const ControlHello&) = default;
};
/// It has finished this many steps, of which the latest took `step_ms` each.
struct StepsFinished {
  std::int64_t count = 0;
  double step_ms = 0;
  friend bool operator==(const StepsFinished&, const StepsFinished&) = default;
};
/// A number of the training, such as its loss.
struct MetricTold {
  std::string name;  ///< See is_metric_name().
  double value = 0;  ///< May be infinite, or none at all (NaN).
  friend bool operator==(const MetricTold&, const MetricTold&) = default;
};
/// It has begun to write the snapshot of that step.
struct SnapshotBegun {
  std::int64_t step = 0;
  friend bool operator==(const SnapshotBegun&, const SnapshotBegun&) = default;
};
/// The snapshot of that step is complete, and survives a crash.
struct SnapshotSaved {
  std::int64_t step = 0;
  friend bool operator==(const SnapshotSaved&, const SnapshotSaved&) = default;
};
/// It finishes no step for now, as after its last one.
struct WorkerIdle {
  friend bool operator==(const WorkerIdle&, const WorkerIdle&) = default;
};
using ControlMessage =
    std::variant<ControlHello, StepsFinished, MetricTold, SnapshotBegun, SnapshotSaved, WorkerIdle>;

/// To save at the end of the present step.
struct SaveNow {
  friend bool operator==(const SaveNow&, const SaveNow&) = default;
};
/// To finish that step, save and end; SIGTERM follows.
struct StopAfter {
  std::int64_t step = 0;
  friend bool operator==(const StopAfter&, const StopAfter&) = default;
};
using ControlRequest = std::variant<SaveNow, StopAfter>;

/// A line without its newline; nothing if it is none of these.
[[nodiscard]] std::optional<ControlMessage> parse_control_line(std::string_view line);

/// With its newline.
[[nodiscard]] std::string control_line(const ControlRequest& request);

/// What one worker sends, in pieces of any size.
///
/// Bounds
///   It holds one begun line of `control_line_bytes_max`. Within a second it takes
///   `events_per_second_max` lines, as many pieces, and `bytes_per_second_max`; beyond that it
///   reads nothing any more. People are told of one line that it does not know, and of such an
///   end.
class ControlReader {
 public:
  static constexpr int events_per_second_max = 1'000;
  static constexpr std::size_t bytes_per_second_max =
      events_per_second_max * control_line_bytes_max;

  struct Heard {
    std::vector<ControlMessage> messages;
    std::vector<std::string> notes;  ///< For people.
  };

  explicit ControlReader(Rank rank) : rank_(rank) {}

  /// A line before the worker's hello is one that it does not know.
  [[nodiscard]] Heard feed(Instant now, std::string_view bytes);

  /// The worker sends nothing more: what it has begun is no line.
  [[nodiscard]] Heard finish();

  [[nodiscard]] bool has_greeted() const { return has_greeted_; }
  [[nodiscard]] bool has_given_up() const { return has_given_up_; }

 private:
  void count_piece(Instant now, std::size_t bytes);
  void end_line(Heard& heard);
  void ignore(Heard& heard);

  Rank rank_;
  std::string begun_;  // of a line that is too long, its beginning
  bool is_too_long_ = false;
  bool has_greeted_ = false;
  bool has_told_ = false;  // that it ignores lines
  bool has_given_up_ = false;
  std::optional<Instant> second_began_;
  int pieces_ = 0;  // since then
  int lines_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace ddprun
