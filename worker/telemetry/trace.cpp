#include "worker/telemetry/trace.hpp"

#include "ddprun/error.hpp"
#include "worker/telemetry/utf8.hpp"

namespace ddprun::worker {
namespace {

/// Times are told from here on: as numbers of microseconds since 1970 they would exceed a double's
/// 53 bits with less than 250 ns. Kineto takes the beginning of the quarter of a year, too
/// (libkineto/src/output_json.cpp), of which this is one.
constexpr std::int64_t base_ns = std::int64_t{7'889'238} * 227 * 1'000'000'000;

std::string microseconds(std::int64_t nanoseconds) {
  const std::string digits = std::to_string(1000 + nanoseconds % 1000);
  return text(nanoseconds / 1000, ".", digits.substr(1));
}

/// A "metadata" event, which names a process.
std::string about_process(const TraceSource& source, const char* name, const std::string& args) {
  return text("{\"ph\":\"M\",\"name\":\"",
              name,
              "\",\"pid\":",
              source.process,
              ",\"tid\":0,\"args\":{",
              args,
              "}}");
}

}  // namespace

std::string trace_begin(const TraceSource& source) {
  return text("{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":",
              base_ns,
              ",\"host_name\":",
              json_string(source.host),
              ",\"distributedInfo\":{\"rank\":",
              source.rank,
              ",\"world_size\":",
              source.world_size,
              "},\"traceEvents\":[\n",
              about_process(source, "process_name", text("\"name\":\"rank ", source.rank, "\"")),
              ",\n",
              about_process(source, "process_sort_index", text("\"sort_index\":", source.rank)));
}

std::string trace_event(const TraceSource& source, const TraceEvent& event) {
  std::string line = text(",\n{\"ph\":\"X\",\"cat\":\"",
                          event.is_annotation ? "user_annotation" : "cpu_op",
                          "\",\"name\":",
                          json_string(event.name),
                          ",\"pid\":",
                          source.process,
                          ",\"tid\":",
                          event.thread,
                          ",\"ts\":",
                          microseconds(event.begin_ns - base_ns),
                          ",\"dur\":",
                          microseconds(event.end_ns - event.begin_ns));
  if (event.sequence >= 0) {
    line += text(",\"args\":{\"Sequence number\":",
                 event.sequence,
                 ",\"Fwd thread id\":",
                 event.forward_thread,
                 "}");
  }
  return line + "}";
}

std::string trace_end(std::int64_t dropped_count) {
  return text("\n],\"droppedEvents\":", dropped_count, "}\n");
}

}  // namespace ddprun::worker
