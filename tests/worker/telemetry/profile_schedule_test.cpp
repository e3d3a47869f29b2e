#include "ddprun/profile_schedule.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

struct ScheduleVector {
  ProfileSchedule schedule;
  std::string actions;  // of the first 16 steps
};

// Printed by torch.profiler.schedule(skip_first, wait, warmup, active, repeat) of PyTorch 2.15:
// NONE is -, WARMUP w, RECORD r, RECORD_AND_SAVE S.
const std::vector<ScheduleVector> schedule_vectors = {
    {{0, 0, 0, 1, 0}, "SSSSSSSSSSSSSSSS"},
    {{0, 1, 1, 3, 0}, "-wrrS-wrrS-wrrS-"},
    {{2, 1, 1, 2, 2}, "---wrS-wrS------"},
    {{3, 0, 0, 2, 1}, "---rS-----------"},
    {{0, 2, 0, 1, 3}, "--S--S--S-------"},
    {{1, 0, 2, 4, 1}, "-wwrrrS---------"},
};

TEST_CASE("profile schedule: each step has the action that Python's torch.profiler gives it") {
  for (const ScheduleVector& vector : schedule_vectors) {
    std::string actions;
    for (std::int64_t step = 0; step < 16; ++step) {
      actions += "-wrS"[static_cast<int>(action_at(vector.schedule, step))];
    }
    CHECK(actions == vector.actions);
  }
}

}  // namespace
}  // namespace ddprun::worker
