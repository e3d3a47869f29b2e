// One event as a line of JSON. Pure.
#pragma once

#include "launcher/events/job_event.hpp"
#include "rendezvous/units.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// What every line has.
struct EventContext {
  std::string time;  ///< "2026-11-25T14:03:07.250Z"
  Millis elapsed;    ///< Since the start of this process.
  std::string job;
  std::string host;
  int process = 0;  ///< The pid that its user knows.
  GenerationNumber generation;
  Rank first_rank;  ///< Of this node's workers.
};

/// Ended by a newline, and with no other.
[[nodiscard]] std::string event_line(const JobEvent& event, const EventContext& context);

/// The names of all events, in the order of JobEvent.
[[nodiscard]] std::vector<std::string_view> event_names();

}  // namespace ddprun
