// The local time of day, for messages.
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

}  // namespace ddprun
