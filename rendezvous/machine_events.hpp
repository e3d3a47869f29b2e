// What any state machine may be told, and may say.
#pragma once

#include <string>

namespace ddprun {

/// The event: `next_deadline()` has come.
struct Timeout {};

/// The action: one line for users.
struct Note {
  std::string text;
  friend bool operator==(const Note&, const Note&) = default;
};

}  // namespace ddprun
