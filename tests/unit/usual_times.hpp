// The times of the tests of machines: easier to reckon with than those that ddprun uses.
#pragma once

#include "rendezvous/lease.hpp"

namespace ddprun {

inline constexpr LeaseTimes usual_times{
    .dead_after = Millis{4'000}, .lease = Millis{3'000}, .heartbeat = Millis{500}};

}  // namespace ddprun
