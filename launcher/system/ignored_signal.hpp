// Whether a signal is ignored, as nohup makes it before it starts a program.
#pragma once

#include <csignal>

namespace ddprun {

[[nodiscard]] inline bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace ddprun
