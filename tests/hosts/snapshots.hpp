// The names of a job's snapshots, which say how far it had come.
#pragma once

#include "tests/e2e/kit.hpp"

#include <compare>
#include <cstdint>
#include <string>

namespace hosts {

/// Of "snapshot.pt.GENERATION.STEP"; both 0: there is none. Newer ones are greater.
struct SnapshotName {
  std::int64_t generation = 0;
  std::int64_t step = 0;
  auto operator<=>(const SnapshotName&) const = default;
};

[[nodiscard]] std::string text_of(const SnapshotName& name);

/// In a folder of the test. Files that are being written do not count.
[[nodiscard]] SnapshotName newest_snapshot(const e2e::Case& test, const std::string& folder);

}  // namespace hosts
