#include "launcher/events/worker_json.hpp"

#include "rendezvous/signal_abbreviation.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

namespace ddprun {

std::string signal_word(int signal) {
  const std::string_view name = signal_abbreviation(signal);
  return name.empty() ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

void append_end(const WorkerEnd& end, nlohmann::ordered_json& object) {
  const auto append = [&](const char* kind) {
    object["end"] = kind;
    object["exit_status"] = exit_status_of(end);
  };
  switch (end.kind) {
    case WorkerEnd::Kind::exited:
      return append("exited");
    case WorkerEnd::Kind::killed:
      append("killed");
      object["signal"] = end.code;
      object["signal_name"] = signal_word(end.code);
      return;
    case WorkerEnd::Kind::not_executed:
      append("not_executed");
      break;
    case WorkerEnd::Kind::not_started:
      append("not_started");
      break;
    case WorkerEnd::Kind::hung:
      append("hung");
      object["silent_ms"] = end.code;
      return;
  }
  object["error"] = std::strerror(end.code);
}

nlohmann::ordered_json json_of(const WorkerFailure& failure) {
  nlohmann::ordered_json object{{"host", failure.host},
                                {"rank", failure.rank.value},
                                {"local_rank", failure.local_rank.value},
                                {"pid", nullptr}};
  if (failure.pid != 0) object["pid"] = failure.pid;
  append_end(failure.end, object);
  return object;
}

std::string dumped(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace ddprun
