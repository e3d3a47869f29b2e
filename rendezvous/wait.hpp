// What a process cannot go on without.
#pragma once

#include <cstdint>

namespace ddprun {

enum class Wait : std::uint8_t {
  nothing,      ///< It goes on by itself.
  coordinator,  ///< That answers.
  start,        ///< Of a generation, by a coordinator elsewhere.
  nodes,
  voters,
  workers,  ///< To end.
  pause,    ///< Before a restart.
};

}  // namespace ddprun
