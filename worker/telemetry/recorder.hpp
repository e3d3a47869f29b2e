// What LibTorch's RecordFunction tells of operators, as events. LibTorch's callbacks have no place
// for an object of the program, so a process has one recorder.
#pragma once

#include "worker/telemetry/trace.hpp"

#include <ATen/record_function.h>

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

namespace ddprun::worker {

/// Threads of LibTorch call add() at any time; the other members are for one thread.
class Recorder {
 public:
  struct Recording {
    std::vector<TraceEvent> events;
    std::int64_t dropped_count = 0;
  };

  static Recorder& of_process();

  /// Whether the caller has the recorder now; false if somebody else has it.
  [[nodiscard]] bool acquire();
  void release();

  /// Between the two, events are kept, at most `events_max`.
  void start(std::int64_t events_max);
  [[nodiscard]] Recording stop();
  [[nodiscard]] bool has_events();

  /// Does nothing unless there is a recording: an operator may end when the recording has.
  void add(TraceEvent event);

 private:
  std::mutex mutex_;  // of all below
  bool is_taken_ = false;
  std::optional<at::CallbackHandle> callback_;  // while there is a recording
  std::size_t events_max_ = 0;
  Recording recording_;
};

/// Nanoseconds since 1970, by a clock that is set in the first call and never jumps.
[[nodiscard]] std::int64_t trace_now_ns();

/// The kernel's number of this thread.
[[nodiscard]] std::int64_t this_thread();

}  // namespace ddprun::worker
