// When people are told that this node waits: for a coordinator, for other nodes, for workers that
// end.
//
// A short wait has no line. A longer one has its first after `first`, and others while it lasts,
// each after twice the time of the one before: hours of waiting are tens of lines. Another wait is
// another line, `between` after the last one at the earliest. On a terminal that can redraw it is
// one status line, drawn anew each second while it lasts, and at once for another wait.
#pragma once

#include "rendezvous/machine_events.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/wait.hpp"

#include <optional>
#include <variant>
#include <vector>

namespace ddprun {

struct Waits {
  Wait what = Wait::nothing;
  bool after_kill = false;  ///< For workers that got SIGKILL.
  friend bool operator==(const Waits&, const Waits&) = default;
};
using WaitEvent = std::variant<Waits, Timeout>;

/// To say what is waited for now.
struct SayWait {
  Millis so_far;  ///< Since something is waited for.
  friend bool operator==(const SayWait&, const SayWait&) = default;
};
/// It was said, and is over.
struct EndWait {
  friend bool operator==(const EndWait&, const EndWait&) = default;
};
using WaitAction = std::variant<SayWait, EndWait>;

struct WaitOptions {
  Millis first{3'000};
  Millis pause{5'000};
  Millis pause_max{300'000};
  Millis between{5'000};
};
constexpr WaitOptions status_line{Millis{1'000}, Millis{1'000}, Millis{1'000}, Millis{0}};

class WaitLines {
 public:
  explicit WaitLines(WaitOptions options) : options_(options) {}

  /// Applies one event and appends what must be said. Never blocks, reads a clock, logs or throws;
  /// total.
  void on_event(Instant now, const WaitEvent& event, std::vector<WaitAction>& out);

  [[nodiscard]] std::optional<Instant> next_deadline() const { return say_at_; }

 private:
  using Actions = std::vector<WaitAction>;
  void on(Instant now, const Waits& waits, Actions& out);
  void on(Instant now, const Timeout&, Actions& out);

  WaitOptions options_;
  Waits waits_;
  Instant since_;
  Millis pause_;                    // from the next line to the one after it
  std::optional<Instant> said_at_;  // the newest line since then
  std::optional<Instant> say_at_;
};

}  // namespace ddprun
