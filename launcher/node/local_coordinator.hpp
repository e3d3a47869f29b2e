// The coordinator of a job of one node. It takes the events of a participant, so that the agent
// sees no difference. Pure.
#pragma once

#include "rendezvous/membership/participant.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ddprun {

class LocalCoordinator {
 public:
  using Actions = std::vector<ParticipantAction>;

  /// `observer` outlives this.
  LocalCoordinator(CoordinatorOptions options, ParticipantObserver& observer)
      : coordinator_(std::move(options)), observer_(observer) {}

  void start(Instant, Actions&) {}

  /// Events of other processes mean nothing here.
  void on_event(Instant now, const ParticipantEvent& event, Actions& out);

  [[nodiscard]] std::optional<Instant> next_deadline() const {
    return coordinator_.next_deadline();
  }
  [[nodiscard]] Wait waits() const { return coordinator_.waits(); }
  [[nodiscard]] std::string waits_for() const { return coordinator_.waits_for(); }
  [[nodiscard]] const Coordinator* coordinator() const { return &coordinator_; }

 private:
  void tell(Instant now, const CoordinatorEvent& event, Actions& out);

  Coordinator coordinator_;
  ParticipantObserver& observer_;
};

}  // namespace ddprun
