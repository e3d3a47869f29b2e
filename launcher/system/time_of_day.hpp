// The time of day: the local one for messages, UTC for programs.
#pragma once

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <string>

namespace ddprun {

/// "14:03:07.250", in the machine's time zone.
inline std::string time_of_day() {
  const auto at = std::chrono::system_clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()) % 1000;
  return fmt::format(
      "{:%H:%M:%S}.{:03}", fmt::localtime(std::chrono::system_clock::to_time_t(at)), ms.count());
}

/// "2026-11-25T14:03:07.250Z", as RFC 3339 has it.
inline std::string utc_time() {
  const auto at = std::chrono::system_clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()) % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(at)),
                     ms.count());
}

}  // namespace ddprun
