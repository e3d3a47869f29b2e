// What --report tells at a job's end, as one JSON document, which ddprun-events(5) describes. Pure.
#pragma once

#include "launcher/failures/failure_details.hpp"
#include "launcher/progress/progress.hpp"
#include "rendezvous/generations/generation.hpp"
#include "rendezvous/outcome.hpp"
#include "rendezvous/units.hpp"

#include <optional>
#include <string>

namespace ddprun {

struct JobReport {
  std::string version;  ///< Of ddprun.
  std::string job;
  std::string host;     ///< Of the process that reports.
  std::string started;  ///< That process, as "2026-11-25T14:03:07.250Z".
  std::string ended;
  Millis lasted;
  Outcome outcome;
  Generation newest;                  ///< Number 0: none has started.
  std::optional<FailureFacts> facts;  ///< If the failure was on this host.
  Progress progress;                  ///< Of this host's workers.
};

/// Ended by a newline.
[[nodiscard]] std::string report_json(const JobReport& report);

}  // namespace ddprun
