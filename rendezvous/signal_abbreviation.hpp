// Names of signals, as glibc's sigabbrev_np gives them. That function came with glibc 2.32, and
// ddprun runs with older ones.
#pragma once

#include <string_view>

namespace ddprun {

/// "TERM" for SIGTERM; empty for a number without a name, as those of real-time signals.
[[nodiscard]] std::string_view signal_abbreviation(int signal);

}  // namespace ddprun
