// The step that an exception has ended, for the message that run() prints.
#pragma once

#include <string>

namespace ddprun::worker {

/// "in step 12 on rank 1, inputs [8, 3], targets [8]", of this thread's newest loop over steps, if
/// an exception has left it; else empty.
[[nodiscard]] inline std::string& failed_step() {
  thread_local std::string place;
  return place;
}

}  // namespace ddprun::worker
