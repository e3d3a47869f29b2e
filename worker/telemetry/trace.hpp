// Traces in the JSON format of Chrome, with the names that PyTorch's profiler gives its events.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun::worker {

/// Times in nanoseconds since 1970.
struct TraceEvent {
  std::string name;
  bool is_annotation;  ///< The program's, not an operator.
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::int64_t thread;
  std::int64_t sequence;         ///< Joins an operator and its backward one; negative: none.
  std::uint64_t forward_thread;  ///< RecordFunction's number for it; 0: no backward operator.
};

struct TraceSource {
  int rank;
  int world_size;
  std::string host;
  std::int64_t process;
};

/// A trace is its beginning, any number of events, and its end.
[[nodiscard]] std::string trace_begin(const TraceSource& source);
[[nodiscard]] std::string trace_event(const TraceSource& source, const TraceEvent& event);
[[nodiscard]] std::string trace_end(std::int64_t dropped_count);

}  // namespace ddprun::worker
