// When a terminal's status row shows how far this node's workers are: at once, then at most once in
// `pause` and only when they have told something new. While they tell nothing there is no deadline.
// Pure.
#pragma once

#include "rendezvous/machine_events.hpp"
#include "rendezvous/units.hpp"

#include <optional>
#include <variant>
#include <vector>

namespace ddprun {

/// A worker has told something.
struct StepsTold {};
/// The last worker has ended.
struct StepsOver {};
using ProgressEvent = std::variant<StepsTold, StepsOver, Timeout>;

/// To show how far they are now.
struct ShowSteps {
  friend bool operator==(const ShowSteps&, const ShowSteps&) = default;
};
/// To show it no longer.
struct HideSteps {
  friend bool operator==(const HideSteps&, const HideSteps&) = default;
};
using ProgressAction = std::variant<ShowSteps, HideSteps>;

class StepLine {
 public:
  static constexpr Millis pause{1'000};

  /// Applies one event and appends what must be done. Never blocks, reads a clock, logs or throws;
  /// total.
  void on_event(Instant now, const ProgressEvent& event, std::vector<ProgressAction>& out);

  [[nodiscard]] std::optional<Instant> next_deadline() const { return show_at_; }

 private:
  using Actions = std::vector<ProgressAction>;
  void on(Instant now, const StepsTold& told, Actions& out);
  void on(Instant now, const StepsOver& over, Actions& out);
  void on(Instant now, const Timeout& timeout, Actions& out);
  void show(Instant now, Actions& out);

  std::optional<Instant> shown_at_;  // since the workers started
  std::optional<Instant> show_at_;
};

}  // namespace ddprun
