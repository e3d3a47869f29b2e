#include "tests/hosts/snapshots.hpp"

#include <algorithm>
#include <cstdio>

namespace hosts {

std::string text_of(const SnapshotName& name) {
  return "snapshot.pt." + std::to_string(name.generation) + "." + std::to_string(name.step);
}

SnapshotName newest_snapshot(const e2e::Case& test, const std::string& folder) {
  SnapshotName newest;
  for (const std::string& file : test.names_in(folder)) {
    long long generation = 0;
    long long step = 0;
    if (std::sscanf(file.c_str(), "snapshot.pt.%lld.%lld", &generation, &step) != 2) continue;
    const SnapshotName name{generation, step};
    if (file == text_of(name)) newest = std::max(newest, name);
  }
  return newest;
}

}  // namespace hosts
