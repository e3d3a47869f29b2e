// How a test sees, from outside, what has become of a job that suffers: the newest generation, and
// whether it does what it is for.
#pragma once

#include "tests/hosts/training.hpp"

#include <chrono>
#include <functional>
#include <set>
#include <string>

namespace hosts {

/// The generation of the worker that was born last.
struct Newest {
  int number = 0;        ///< 0: there has been none.
  Nanoseconds begun{0};  ///< The birth of its first worker.
  std::set<int> hosts;   ///< Where it had workers.
  bool is_alone = true;  ///< All its workers live, and no others do.
};

[[nodiscard]] Newest newest_of(Training& job);

/// Whether that generation has made progress since `begin` was called.
struct Progress {
  std::function<void()> begin;
  std::function<bool(const Newest& newest)> made;
};

/// It has saved a snapshot in `folder`.
[[nodiscard]] Progress progress_by_snapshots(Training& job, const std::string& folder);

/// It has been the only one that lives, with all its workers, for that long.
[[nodiscard]] Progress progress_by_presence(std::chrono::milliseconds steady);

}  // namespace hosts
