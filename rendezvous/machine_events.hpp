// What any state machine may be told, and may say.
#pragma once

#include "rendezvous/units.hpp"

#include <string>

namespace ddprun {

/// The event: `next_deadline()` has come.
struct Timeout {};
/// A machine that hears it later than this was held up, and perhaps all that it waits for was, too.
constexpr Millis held_up{1'000};

/// The action: one line for users.
struct Note {
  std::string text;
  friend bool operator==(const Note&, const Note&) = default;
};

}  // namespace ddprun
