// What a node says of a job: its first lines, its coordinator's, and those about its end. Pure.
#pragma once

#include "launcher/node/job.hpp"
#include "launcher/text/endpoint.hpp"

#include <string>
#include <vector>

namespace ddprun {

/// Before anything happens: one line each.
[[nodiscard]] std::vector<std::string> first_notes(const Job& job);

/// By the first process that coordinates a job of many nodes, once it listens: one line each.
[[nodiscard]] std::vector<std::string> coordinating_notes(const Job& job, const Endpoint& endpoint);

/// Whether the batch script's own process tells the job's outcome, and ends with its status: then
/// an agent says nothing of it and ends with 0. `was_told`: the coordinator has told this process.
[[nodiscard]] bool is_reported_by_script(const Job& job, bool was_told);

}  // namespace ddprun
