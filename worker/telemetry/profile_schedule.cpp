#include "ddprun/profile_schedule.hpp"

namespace ddprun::worker {

ProfileAction action_at(const ProfileSchedule& schedule, std::int64_t step) {
  if (step < schedule.skip_first) return ProfileAction::none;
  const std::int64_t cycle_steps = schedule.wait + schedule.warmup + schedule.active;
  const std::int64_t cycle = (step - schedule.skip_first) / cycle_steps;
  const std::int64_t at = (step - schedule.skip_first) % cycle_steps;
  if (schedule.repeat > 0 && cycle >= schedule.repeat) return ProfileAction::none;
  if (at < schedule.wait) return ProfileAction::none;
  if (at < schedule.wait + schedule.warmup) return ProfileAction::warmup;
  return at + 1 < cycle_steps ? ProfileAction::record : ProfileAction::record_and_save;
}

}  // namespace ddprun::worker
