// What benches measure with.
#pragma once

#include <algorithm>
#include <ctime>
#include <vector>

namespace ddprun::bench {

/// The processor time of this process until now, in seconds.
inline double cpu_s() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

/// The upper one of two. `values` has at least one.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace ddprun::bench
