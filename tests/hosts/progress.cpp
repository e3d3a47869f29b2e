#include "tests/hosts/progress.hpp"

#include "tests/hosts/snapshots.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace hosts {

Newest newest_of(Training& job) {
  const std::vector<Life> lives = job.cluster().watch().lives();
  Newest newest;
  if (lives.empty()) return newest;
  const Birth& last = lives.back().birth;
  newest.number = last.generation;
  newest.begun = last.born;
  for (const Life& life : lives) {
    const Birth& birth = life.birth;
    const bool is_own = birth.generation == last.generation && birth.master == last.master;
    if (is_own) newest.hosts.insert(std::stoi(birth.host.substr(1)));
    if (is_own) newest.begun = std::min(newest.begun, birth.born);
    if (is_own == life.dead.has_value()) newest.is_alone = false;
  }
  return newest;
}

Progress progress_by_snapshots(Training& job, const std::string& folder) {
  const auto before = std::make_shared<SnapshotName>();
  const e2e::Case& test = job.cluster().test();
  return {[before, folder, &test] { *before = newest_snapshot(test, folder); },
          [before, folder, &test](const Newest& newest) {
            const SnapshotName name = newest_snapshot(test, folder);
            return name > *before && name.generation == newest.number;
          }};
}

Progress progress_by_presence(std::chrono::milliseconds steady) {
  struct Since {
    Nanoseconds begun{0};  // of which generation
    Nanoseconds alone{0};
  };
  const auto since = std::make_shared<Since>();
  return {[since] { *since = {}; },
          [since, steady](const Newest& newest) {
            const Nanoseconds now = boottime();
            if (!newest.is_alone || newest.begun != since->begun) *since = {newest.begun, now};
            return newest.number > 0 && newest.is_alone && now - since->alone >= steady;
          }};
}

}  // namespace hosts
