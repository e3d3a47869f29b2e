// When the batch system will end the job, and when the job is to stop before that.
//
// The end may be moved while the job runs, so Slurm is asked again before the job is stopped.
//
// States
//   asking     the batch system was asked; waits for its answer, but not for long
//   waiting    for the time to stop, or to ask again
//   over       there is no end, or the job was told to stop
// Invariants
//   E1  The job is told to stop once, and never while an answer of the last `patience` says that
//       there is more time.
//   E2  A known end holds until another is known: without an answer the job stops in time.
// Bounds
//   One question at a time, `retry` or `retry_later` after one without an answer.
#pragma once

#include "rendezvous/machine_events.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

struct EndWatchOptions {
  Millis before_end{120'000};  ///< At most half of the time that is left at the first answer.
  Millis patience{10'000};     ///< For an answer.
  Millis retry{30'000};
  int tries_max = 3;            ///< Before it is said that nobody answers.
  Millis retry_later{600'000};  ///< Between two questions from then on.
  friend bool operator==(const EndWatchOptions&, const EndWatchOptions&) = default;
};

/// The time until the end; nothing: there is none.
using TimeLeft = std::optional<Millis>;

struct EndAnswer {
  std::optional<TimeLeft> left;  ///< Nothing: it could not be learnt,
  std::string why;               ///< for this reason.
};
using EndEvent = std::variant<EndAnswer, Timeout>;

/// To be answered by EndAnswer, within `patience`.
struct AskForEnd {
  Millis patience;
  friend bool operator==(const AskForEnd&, const AskForEnd&) = default;
};
/// So that it can go on later.
struct StopJob {
  Millis left;  ///< Until its end.
  friend bool operator==(const StopJob&, const StopJob&) = default;
};
using EndAction = std::variant<AskForEnd, StopJob, Note>;

class EndWatch {
 public:
  explicit EndWatch(EndWatchOptions options) : options_(options) {}

  /// The first actions: call once, before any event. `known` is what is left, where that need not
  /// be asked for.
  void start(Instant now, std::optional<Millis> known, std::vector<EndAction>& out);

  /// Applies one event and appends what must be done. Never blocks, reads a clock, logs or throws;
  /// total: an event that means nothing in the present state changes nothing.
  void on_event(Instant now, const EndEvent& event, std::vector<EndAction>& out);

  [[nodiscard]] std::optional<Instant> next_deadline() const { return deadline_; }

  friend bool operator==(const EndWatch&, const EndWatch&) = default;

 private:
  enum class State : std::uint8_t { asking, waiting, over };
  using Actions = std::vector<EndAction>;

  void on(Instant now, const EndAnswer& answer, Actions& out);
  void on(Instant now, const Timeout&, Actions& out);
  void ask(Instant now, Actions& out);
  void learn(Instant now, const TimeLeft& left, Actions& out);
  void go_without(Instant now, const std::string& why, Actions& out);
  void stop(Instant now, Actions& out);

  EndWatchOptions options_;
  State state_ = State::over;
  std::optional<Instant> deadline_;
  std::optional<Instant> end_;
  Millis before_end_;  // once an end is known
  int tries_count_ = 0;
};

}  // namespace ddprun
