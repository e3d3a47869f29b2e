// The lines about a job from its coordinator, and about its end. Pure.
#pragma once

#include "launcher/node/job.hpp"
#include "launcher/text/endpoint.hpp"
#include "rendezvous/generations/coordinator.hpp"

#include <deque>
#include <string>
#include <vector>

namespace ddprun {

/// The failed worker's last lines, its error file and a hint, if there are any, and the program if
/// it could not be executed; each line indented, the last one ended. Empty for an outcome without a
/// failure.
[[nodiscard]] std::string failure_details(const Outcome& outcome,
                                          const std::deque<std::string>& last_lines,
                                          const std::string& error_file,
                                          const std::string& executable);

/// By the first process that coordinates a job of many nodes, once it listens: one line each.
[[nodiscard]] std::vector<std::string> coordinating_notes(const Job& job, const Endpoint& endpoint);

/// What to look at first for this kind of end, or empty.
[[nodiscard]] std::string hint_for(const WorkerEnd& end);

}  // namespace ddprun
