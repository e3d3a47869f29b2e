// How a connection to another node ended.
#pragma once

#include "rendezvous/result.hpp"

#include <cstdint>

namespace ddprun {

struct ConnectionEnd {
  enum class Kind : std::uint8_t {
    lost,          ///< It could not be made, or was closed or cut. The next one may live.
    fault,         ///< The other side broke the protocol, or read nothing.
    incompatible,  ///< It says that version, job or token differ, which nothing proves.
  };
  Kind kind = Kind::lost;
  Error why;
  friend bool operator==(const ConnectionEnd&, const ConnectionEnd&) = default;
};

}  // namespace ddprun
