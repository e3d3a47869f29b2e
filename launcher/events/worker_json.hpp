// How a worker ended, as JSON: the same in events and in the report. Pure.
#pragma once

#include "rendezvous/worker_end.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace ddprun {

/// "SIGKILL"; "signal 40" for one without a name.
[[nodiscard]] std::string signal_word(int signal);

/// Appends the members `end` and `exit_status`, and those that this kind of end has.
void append_end(const WorkerEnd& end, nlohmann::ordered_json& object);

/// Of a worker that was not started, `pid` is null.
[[nodiscard]] nlohmann::ordered_json json_of(const WorkerFailure& failure);

/// On one line unless `indent` is 0 or more. Bytes that are no UTF-8 become U+FFFD, since JSON
/// cannot hold them.
[[nodiscard]] std::string dumped(const nlohmann::ordered_json& value, int indent = -1);

}  // namespace ddprun
