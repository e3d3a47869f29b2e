// What a worker reports to the watch of its test before it does anything else, and the lock that it
// holds while it lives. watch.hpp says why.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hosts {

using Nanoseconds = std::chrono::nanoseconds;

/// CLOCK_BOOTTIME, which all pretended hosts share.
[[nodiscard]] Nanoseconds boottime();

/// In the test's folder, which is every worker's.
constexpr const char* watch_socket = "watch";
/// Each living worker holds a lock on one byte of this file, the one at its time of birth.
constexpr const char* lives_file = "lives";

/// A worker's time of birth is its name: no two have the same.
struct Birth {
  std::string job;
  int generation = 0;
  std::string master;  ///< "ADDRESS PORT"
  int rank = 0;
  std::string host;
  Nanoseconds born{0};              ///< When its program began to run.
  Nanoseconds looked{0};            ///< When it looked for the locks of others.
  std::vector<Nanoseconds> beside;  ///< The births of all that held one then.
};

[[nodiscard]] std::string text_of(const Birth& birth);
[[nodiscard]] std::optional<Birth> parse_birth(std::string_view text);

/// Takes the lock, looks for others and tells the watch. The lock is held until the last process is
/// gone that was forked with it, or that this one has become. Throws where that cannot be done.
void announce_birth();

}  // namespace hosts
