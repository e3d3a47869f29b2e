// Which steps of a training are recorded: the schedule of Python's torch.profiler.
#pragma once

#include <cstdint>

namespace ddprun::worker {

/// After `skip_first` steps, cycles of `wait`, `warmup` and `active` steps; the names and the order
/// of torch.profiler.schedule().
struct ProfileSchedule {
  std::int64_t skip_first = 0;
  std::int64_t wait = 0;
  std::int64_t warmup = 0;  ///< Not recorded either: a RecordFunction needs no warming up.
  std::int64_t active = 1;  ///< Steps of a trace, at least 1.
  std::int64_t repeat = 0;  ///< Cycles; 0: to the end.
};

enum class ProfileAction { none, warmup, record, record_and_save };

/// What happens in step `step`, counted from 0. No member may be negative. Pure.
[[nodiscard]] ProfileAction action_at(const ProfileSchedule& schedule, std::int64_t step);

}  // namespace ddprun::worker
